// Package summary says in 80 columns what a load measured, from its document alone.
package summary

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// Width is how many columns no line exceeds.
const Width = 80

// Terminal writes the summary of a document that has one arm.
func Terminal(w io.Writer, d result.Document) error {
	out := bufio.NewWriter(w)
	if len(d.Arms) != 1 {
		return fmt.Errorf("the result of a load has one arm, not %d", len(d.Arms))
	}
	arm := d.Arms[0]
	head(out, d, arm)
	if err := picture(out, arm.Latency); err != nil {
		return err
	}
	if err := times(out, arm.Measures); err != nil {
		return err
	}
	failures(out, arm.Measures)
	backends(out, arm.Backends)
	generator(out, arm)
	for _, warning := range d.Warnings {
		say(out, warning+".")
	}
	return out.Flush()
}

func head(out io.Writer, d result.Document, arm result.Arm) {
	what, how, _ := strings.Cut(d.Question, ": ")
	say(out, what+" at "+arm.Name)
	say(out, how)
	say(out, report.Machine(d.Machine)+", "+d.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	if d.Partial {
		say(out, "Partial: the load was interrupted.")
	}
	fmt.Fprintln(out)
	lost := arm.Failed()
	answered := ""
	if lost > 0 {
		answered = fmt.Sprintf(" (%s/s answered)", rate(arm.Answered()))
	}
	say(out, fmt.Sprintf("%s in %.4g s: %s calls/s%s, %s failed, %s dropped",
		calls(arm.Calls), arm.ElapsedMS/1e3, rate(arm.Rate), answered, whole(lost), whole(arm.Dropped)))
	if arm.Limited != "" {
		say(out, "Limited by the generator: "+arm.Limited+". The figures are not the target's alone.")
	}
}

// times is the table of percentiles.
func times(out io.Writer, m result.Measures) error {
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
			continue // no call was answered
		}
		fmt.Fprintf(out, "%-9s", row.name)
		for i, v := range []float64{row.h.Min, row.h.Mean, row.h.P50, row.h.P90, row.h.P95, row.h.P99, row.h.P999, row.h.Max} {
			fmt.Fprintf(out, "%*s", 8+min(i, 1), ms(v))
		}
		fmt.Fprintln(out)
	}
	say(out, "latency: from when a call was due; service: from when it was sent;")
	say(out, "lateness: between the two")
	if m.Messages != nil && !m.Messages.Empty() {
		answers, err := m.Messages.Decode()
		if err != nil {
			return err
		}
		say(out, fmt.Sprintf("messages: %s came, each from when the one that it answers was sent", whole(uint64(answers.TotalCount()))))
	}
	return nil
}

// row is a line of the table of percentiles.
type row struct {
	name string
	h    result.Histogram
}

func failures(out io.Writer, m result.Measures) {
	if m.Failed() == 0 {
		return
	}
	fmt.Fprint(out, "\nErrors\n")
	for _, code := range most(m.Errors) {
		text := fmt.Sprintf("%s: %s (%.3g %%)", clean(code), whole(m.Errors[code]), 100*float64(m.Errors[code])/float64(m.Calls))
		if sample := clean(m.Samples[code]); sample != "" {
			text += ", first: " + cut(sample, 230)
		}
		item(out, text)
	}
}

// shown is how many backends are listed.
const shown = 20

func backends(out io.Writer, counts map[string]uint64) {
	var all uint64
	for _, n := range counts {
		all += n
	}
	if all == 0 {
		return
	}
	fmt.Fprint(out, "\nBackends\n")
	for i, id := range most(counts) {
		if i == shown {
			item(out, fmt.Sprintf("and %d more", len(counts)-shown))
			return
		}
		item(out, fmt.Sprintf("%s: %s (%.3g %%)", cut(clean(id), 50), calls(counts[id]), 100*float64(counts[id])/float64(all)))
	}
}

// most are the keys with a count, the largest first.
func most(counts map[string]uint64) []string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(k string) bool { return counts[k] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys
}

// clean makes text from outside safe to print on a terminal, on one line.
func clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)), " ")
}
