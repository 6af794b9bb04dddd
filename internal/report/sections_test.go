package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
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
