package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"rpclab/internal/web/meters"
)

// described is the text of a description of the Prometheus library, which has no accessors.
var described = regexp.MustCompile(`fqName: "([^"]*)", help: "([^"]*)".*variableLabels: \{([^}]*)\}`)

// metricsPage lists the series of a run.
func metricsPage() string {
	var b strings.Builder
	b.WriteString("# Metrics\n\n`rpclab run --metrics ADDRESS` and `rpclab serve` offer these series to Prometheus while a run is in progress.\n" +
		"[Dashboards](../dashboards.md) shows them, and lists the series of servers and gateways.\n\n| series | labels | meaning |\n|---|---|---|\n")
	series := make(chan *prometheus.Desc)
	go func() {
		meters.New().Describe(series)
		close(series)
	}()
	for desc := range series {
		if found := described.FindStringSubmatch(desc.String()); found != nil {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", found[1], strings.ReplaceAll(found[3], ",", ", "), found[2])
		}
	}
	return b.String()
}
