package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// Elements read as in the Markdown report, and the summary has every arm.
func TestElementsReadAsInTheMarkdownReport(t *testing.T) {
	for name, d := range samples() {
		var all bytes.Buffer
		if err := Markdown(&all, d); err != nil {
			t.Fatal(err)
		}
		s := SectionsOf(d)
		for _, e := range slices.Concat(s.Verdicts, s.Balance, s.Confound, s.Failures, s.Warnings) {
			if !strings.Contains(all.String(), e.Markdown()) {
				t.Errorf("%s: the report lacks\n%s", name, e.Markdown())
			}
		}
		var table string
		for _, e := range s.Summary {
			table += e.Markdown()
		}
		for _, arm := range armNames(d) {
			if measured(d) && !strings.Contains(table, "| "+escape(arm)) {
				t.Errorf("%s: the summary lacks %s:\n%s", name, arm, table)
			}
		}
	}
}

// The ratio of an arm that lost its calls is that of the others, so no table and no scale has it.
func TestRatiosOfLostCallsAreNotShown(t *testing.T) {
	for kind, shown := range map[result.CauseKind]bool{result.CauseLostCalls: false, result.CauseInterval: true} {
		d := result.Document{Headline: []string{"rate"}, Verdicts: []result.Verdict{{
			Metric: "rate", A: "virtual", B: "threads", Kind: result.OfBaseline, Ratio: 0.13, CI: [2]float64{0.12, 0.14}, Rounds: 4,
			Decision: "undecided", Unfit: !shown, Cause: &result.Cause{Kind: kind},
		}}}
		line := cards(d)[0].Lines[0]
		if got := line.Ratio != none && line.Interval != ""; got != shown {
			t.Errorf("undecided because of %s: the card is %+v, want a ratio: %t", kind, line, shown)
		}
		var open page
		undecided(&open, d, d.Verdicts)
		if row := open.blocks[0].table.rows[0]; slices.ContainsFunc(row, func(cell string) bool { return strings.HasPrefix(cell, "0.13") }) != shown {
			t.Errorf("undecided because of %s: the row is %q, want a ratio: %t", kind, row, shown)
		}
	}
}

func TestACardHasTheVerdictsOfOnePairInOneCell(t *testing.T) {
	all := cards(channels())
	first := all[0]
	if first.A != "new-channel" || first.B != "shared" || first.Cell != "burst = 2,000" || len(first.Lines) != 2 {
		t.Fatalf("the first card is %+v, want new-channel against shared at burst = 2,000 with 2 lines", first)
	}
	median := first.Lines[0]
	if median.Metric != "median" || median.Mark+median.Word != "−slower" || median.Ratio != "1.39" || median.Interval != "1.31–1.46" {
		t.Errorf("the first line is %+v, want the median: slower, 1.39 (1.31–1.46)", median)
	}
	for _, c := range all {
		for _, l := range c.Lines {
			if l.At < 0 || l.At > 100 || l.Low > l.At || l.High < l.At {
				t.Errorf("%s %s: the ratio is at %g and its interval from %g to %g, want the ratio within the interval and at 0 to 100", c.A, l.Metric, l.At, l.Low, l.High)
			}
		}
	}
	if n := len(all); slices.ContainsFunc(all, func(c Card) bool { return c.Kind == "" }) || n != 10 {
		t.Errorf("%d cards, want 10, each with a kind", n)
	}
}

func TestACardSaysThatAMetricWasNotTested(t *testing.T) {
	d := channels()
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Metric == "latency_p99" && v.Decision == "undecided" {
			v.Reason, v.Cause = "not tested: p50 is not settled", &result.Cause{Kind: result.CauseNotTested, Metric: "latency_p50"}
		}
	}
	for _, c := range cards(d) {
		for _, l := range c.Lines {
			if tested := l.Word != "not tested"; tested == (l.Metric == "p99" && l.Decision == "undecided") {
				t.Errorf("%s, %s: %s (%s)", c.A, l.Metric, l.Word, l.Reason)
			}
		}
	}
}
