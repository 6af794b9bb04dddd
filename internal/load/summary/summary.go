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
	times(out, arm.Measures)
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
	if d.Partial {
		say(out, "Partial: the load was interrupted.")
	}
	fmt.Fprintln(out)
	say(out, fmt.Sprintf("%s calls in %.4g s: %s calls/s, %s failed, %s dropped",
		whole(arm.Calls), arm.ElapsedMS/1e3, rate(arm.Rate), whole(failed(arm.Measures)), whole(arm.Dropped)))
	if arm.Limited != "" {
		say(out, "Limited by the generator: "+arm.Limited+". The figures are not the target's alone.")
	}
}

// times is the table of percentiles.
func times(out io.Writer, m result.Measures) {
	if m.Lateness.Empty() {
		return
	}
	fmt.Fprintf(out, "\n%-9s%8s %8s %8s %8s %8s %8s %8s %8s\n", "ms", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
	for _, row := range []struct {
		name string
		h    result.Histogram
	}{{"latency", m.Latency}, {"service", m.Service}, {"lateness", m.Lateness}} {
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
}

func failures(out io.Writer, m result.Measures) {
	if failed(m) == 0 {
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

func backends(out io.Writer, calls map[string]uint64) {
	var all uint64
	for _, n := range calls {
		all += n
	}
	if all == 0 {
		return
	}
	fmt.Fprint(out, "\nBackends\n")
	for i, id := range most(calls) {
		if i == shown {
			item(out, fmt.Sprintf("and %d more", len(calls)-shown))
			return
		}
		item(out, fmt.Sprintf("%s: %s calls (%.3g %%)", cut(clean(id), 50), whole(calls[id]), 100*float64(calls[id])/float64(all)))
	}
}

// most are the keys with a count, the largest first.
func most(counts map[string]uint64) []string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(k string) bool { return counts[k] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return keys
}

func failed(m result.Measures) (n uint64) {
	for _, calls := range m.Errors {
		n += calls
	}
	return n
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
