package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rpclab/internal/suggest"
	"rpclab/internal/verdict"
)

// Gate is a condition on the ratio of a metric in a run over that in an earlier one:
// `p99 ratio < 1.05`.
//
//	gate     = metric "ratio" operator number
//	metric   = "p50" | "p90" | "p99" | "p999" | "mean", also after "latency_", or another
//	           that arms are compared on: "rate", "client_cpu", …
//	operator = "<" | "<=" | ">" | ">="
type Gate struct {
	metric metric
	bound  verdict.Bound
	text   string
}

// String is the gate as the user wrote it.
func (g Gate) String() string { return g.text }

// GateMetrics are the metrics that a gate can name.
func GateMetrics() []string {
	var names []string
	for _, m := range metrics {
		names = append(names, strings.TrimPrefix(m.name, "latency_"))
	}
	return names
}

var bounds = map[string]verdict.Bound{
	"<": {}, "<=": {Equal: true}, ">": {Over: true}, ">=": {Over: true, Equal: true},
}

// ParseGate reads a gate. Its errors name the column and what is allowed there.
func ParseGate(text string) (g Gate, err error) {
	rest, at := text, 0
	fail := func(format string, args ...any) (Gate, error) {
		return Gate{}, fmt.Errorf("%q, column %d: %w", text, at+1, fmt.Errorf(format, args...))
	}
	// next is the text up to one of the characters in end; at is where it begins.
	next := func(end string) string {
		rest = strings.TrimLeft(rest, " \t")
		at = len(text) - len(rest)
		n := strings.IndexAny(rest, end)
		if n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		rest = rest[n:]
		return word
	}
	name := next(" \t<>=!")
	if g.metric, err = gateMetric(name); err != nil {
		return fail("%w", err)
	}
	if word := next(" \t<>=!"); word != "ratio" {
		return fail("write ratio after %s: an example of a gate is '%s ratio < 1.05'", name, name)
	}
	operator := next("0123456789.+-abcdefghijklmnopqrstuvwxyz \t")
	bound, known := bounds[operator]
	if !known {
		return fail("after ratio write one of < <= > >=")
	}
	number := strings.TrimSpace(next("\x00"))
	bound.Limit, err = strconv.ParseFloat(number, 64)
	if err != nil || !(bound.Limit > 0) || math.IsInf(bound.Limit, 1) {
		return fail("%q is not a ratio: write a number over 0 such as 1.05", number)
	}
	g.bound, g.text = bound, strings.TrimSpace(text)
	return g, nil
}

func gateMetric(name string) (metric, error) {
	for _, m := range metrics {
		if name == m.name || "latency_"+name == m.name {
			return m, nil
		}
	}
	if name == "" {
		return metric{}, fmt.Errorf("a metric is missing: write one of %s", strings.Join(GateMetrics(), ", "))
	}
	return metric{}, fmt.Errorf("no metric %q%s", name, suggest.DidYouMean(name, GateMetrics()))
}
