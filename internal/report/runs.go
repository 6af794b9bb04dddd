package report

import (
	"fmt"
	"io"
	"strings"

	"rpclab/internal/result"
)

// Runs writes the list of stored runs, which occupy so many bytes, at most 80 columns wide.
func Runs(w io.Writer, rows []result.RunSummary, bytes uint64) error {
	var p page
	if len(rows) == 0 {
		p.say("No runs yet: `rpclab run channels --quick` adds one.")
		return writeTerminal(w, p, Options{})
	}
	t := table{columns: []column{{"run (UTC time)", false}, {"experiment", false}, {"status", false}, {"trials", true}, {"arms", true}}}
	for _, r := range rows {
		t.rows = append(t.rows, []string{clean(r.ID), cut(clean(r.Experiment), 20), string(r.Status), trialsOf(r), number(float64(len(r.Arms)))})
	}
	p.grid(t)
	p.note(strings.Join(statuses(rows), " "))
	p.note(fmt.Sprintf("%s, %s. `rpclab runs rm --older-than 30d` removes old ones.", plural(len(rows), "run"), Size(bytes)))
	return writeTerminal(w, p, Options{})
}

func trialsOf(r result.RunSummary) string {
	if r.Status == result.Done || r.Status == result.Failed {
		return number(float64(r.Trials))
	}
	return fmt.Sprintf("%d of %d", r.Trials, r.Planned)
}

// statuses explains the statuses that are not obvious, and how to show a run.
func statuses(rows []result.RunSummary) []string {
	seen := map[result.Status]bool{}
	for _, r := range rows {
		seen[r.Status] = true
	}
	var out []string
	if seen[result.Partial] {
		out = append(out, "partial: stopped before its last trial.")
	}
	if seen[result.Failed] {
		out = append(out, "failed: an assertion or gate failed; `rpclab runs accept RUN` lets later gates compare with it.")
	}
	if seen[result.Interrupted] {
		out = append(out, "interrupted: its process ended before the run did, or could not store it; the trials stored until then are kept.")
	}
	return append(out, "`rpclab report RUN` shows one, `rpclab report latest` the newest.")
}
