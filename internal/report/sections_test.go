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
