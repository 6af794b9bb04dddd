package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// described is the text of a description of the Prometheus library, which has no accessors.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "([^"]+)", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

// metricsPage lists the series of a run, which describe sends.
func metricsPage(describe func(chan<- *prometheus.Desc)) (page string, err error) {
	var b strings.Builder
	b.WriteString("# Metrics\n\n`rpclab run --metrics ADDRESS` and `rpclab serve` offer these series to Prometheus while a run is in progress.\n" +
		"[Dashboards](../dashboards.md) shows them, and lists the series of servers and gateways.\n\n| series | labels | meaning |\n|---|---|---|\n")
	series := make(chan *prometheus.Desc)
	go func() {
		describe(series)
		close(series)
	}()
	for desc := range series {
		found := described.FindStringSubmatch(desc.String())
		if found == nil {
			err = fmt.Errorf("metrics: tools/site cannot read %s: use no quotation marks in it, or change the expression described", desc)
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", found[1], strings.ReplaceAll(found[3], ",", ", "), found[2])
	}
	return b.String(), err
}
