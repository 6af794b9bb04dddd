// Package summary prints the result of a load in 80 columns.
package summary

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rpclab/internal/load"
	"rpclab/internal/report"
	"rpclab/internal/result"
)

// Width is the largest width of a line, in columns.
const Width = 80

// Terminal writes the summary of a document, which must have one arm.
func Terminal(w io.Writer, d result.Document) error {
	out := bufio.NewWriter(w)
	if len(d.Arms) != 1 {
		return fmt.Errorf("the result of a load has one arm, not %d", len(d.Arms))
	}
	arm := d.Arms[0]
	head(out, d, arm)
	if err := histogram(out, arm.Latency); err != nil {
		return err
	}
	if err := percentiles(out, arm.Measures); err != nil {
		return err
	}
	failures(out, arm.Measures)
	backends(out, arm.Backends)
	generator(out, arm)
	for _, warning := range d.Warnings {
		paragraph(out, warning+".")
	}
	return out.Flush()
}

func head(out io.Writer, d result.Document, arm result.Arm) {
	what, how, _ := strings.Cut(d.Question, ": ")
	paragraph(out, what+" at "+arm.Name)
	paragraph(out, how)
	paragraph(out, report.Machine(d.Machine)+", "+d.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	if d.Partial {
		paragraph(out, "Partial: the load was interrupted.")
	}
	fmt.Fprintln(out)
	lost := arm.Failed()
	answered := ""
	if lost > 0 {
		answered = fmt.Sprintf(" (%s/s answered)", rate(arm.Answered()))
	}
	paragraph(out, fmt.Sprintf("%s in %.4g s: %s calls/s%s, %s failed, %s dropped",
		calls(arm.Calls), arm.ElapsedMS/1e3, rate(arm.Rate), answered, count(lost), count(arm.Dropped)))
	if arm.Limited != "" {
		paragraph(out, "The load generator was the bottleneck: "+arm.Limited+". The target may be faster.")
	}
}

// percentiles prints the table of percentiles.
func percentiles(out io.Writer, m result.Measures) error {
	if m.Lateness.Empty() {
		return nil
	}
	fmt.Fprintf(out, "\n%-9s%8s %8s %8s %8s %8s %8s %8s %8s\n", "ms", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
	rows := []row{{"latency", m.Latency}, {"service", m.Service}, {"lateness", m.Lateness}}
	if m.Messages != nil {
		rows = append(rows, row{"messages", *m.Messages})
	}
	for _, row := range rows {
		if row.h.Empty() {
			continue // no answered calls
		}
		fmt.Fprintf(out, "%-9s", row.name)
		for i, v := range []float64{row.h.Min, row.h.Mean, row.h.P50, row.h.P90, row.h.P95, row.h.P99, row.h.P999, row.h.Max} {
			fmt.Fprintf(out, "%*s", 8+min(i, 1), ms(v))
		}
		fmt.Fprintln(out)
	}
	paragraph(out, "latency is counted from when a call was due, service from when it was sent;")
	paragraph(out, "lateness is the difference")
	if m.Messages != nil && !m.Messages.Empty() {
		answers, err := m.Messages.Decode()
		if err != nil {
			return err
		}
		paragraph(out, fmt.Sprintf("messages: %s responses, each counted from when its request was sent", count(uint64(answers.TotalCount()))))
	}
	return nil
}

// row is a row of the table of percentiles.
type row struct {
	name string
	h    result.Histogram
}

func failures(out io.Writer, m result.Measures) {
	if m.Failed() == 0 {
		return
	}
	fmt.Fprint(out, "\nErrors\n")
	for _, code := range byCount(m.Errors) {
		text := fmt.Sprintf("%s: %s (%.3g %%)", clean(code), count(m.Errors[code]), 100*float64(m.Errors[code])/float64(m.Calls))
		if sample := clean(m.Samples[code]); sample != "" {
			text += ", first: " + truncate(sample, 230)
		}
		item(out, text)
	}
}

// maxBackends is how many backends are listed.
const maxBackends = 20

func backends(out io.Writer, counts map[string]uint64) {
	var all uint64
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return
	}
	fmt.Fprint(out, "\nBackends\n")
	for i, id := range byCount(counts) {
		if i == maxBackends {
			item(out, fmt.Sprintf("and %d more", len(counts)-maxBackends))
			return
		}
		item(out, fmt.Sprintf("%s: %s (%.3g %%)", truncate(clean(id), 50), calls(counts[id]), 100*float64(counts[id])/float64(all)))
	}
}

// byCount returns the keys with a count, largest first.
func byCount(counts map[string]uint64) []string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(k string) bool { return counts[k] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys
}

// clean makes foreign text safe to print on one line of a terminal.
func clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)), " ")
}

// generator prints the CPU time and memory of the load generator, and its own limits.
func generator(out io.Writer, arm result.Arm) {
	fmt.Fprint(out, "\nGenerator\n")
	cost := arm.Resources.Client
	item(out, fmt.Sprintf("%.3g µs CPU per call, at most %s MB of memory", cost.CPU, count(cost.RSS/1e6)))
	if a, ok := selfTestOf(arm.Config["generator"]); ok {
		SelfTest(out, a)
	}
}

// SelfTest prints the result of a self-test.
func SelfTest(out io.Writer, a load.SelfTestResult) {
	item(out, fmt.Sprintf("its ceiling on this machine: %s calls/s (%s, %d calls in flight, %.3g µs CPU per call including the test server)",
		rate(a.CeilingRate), a.Engine, a.CeilingUsers, a.CeilingCPU))
	item(out, fmt.Sprintf("its floor: p50 %.3g µs, p99 %.3g µs (one call at a time); bare TCP with the same %d bytes sent and %d received: p50 %.3g µs, p99 %.3g µs",
		a.FloorP50, a.FloorP99, a.SentBytes, a.ReceivedBytes, a.PingP50, a.PingP99))
}

// selfTestOf decodes a self-test, also from a document read from JSON.
func selfTestOf(config any) (a load.SelfTestResult, ok bool) {
	if config == nil {
		return a, false
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err == nil
}
