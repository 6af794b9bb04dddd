// Package analysis computes measures, verdicts, warnings and comparisons from recorded trials. It is
// pure: it takes and returns values, and starts, reads and waits for nothing.
//
//   - trial.go: [Record.Summarize] turns the record of a load into a trial, with its events (events.go,
//     avoidance.go), timeline, balance and interference.
//   - assemble.go: [Assemble] computes a document from its trials: merged arms (arm.go), verdicts (verdicts.go on
//     the metrics of metrics.go, unless guards.go finds a reason against one), accounts of confounds and
//     warnings.
//   - compare.go: [Compare] compares two documents, with gates (gate.go) and the pairs of their arms
//     (pairs.go). [MergeRuns] merges several runs into one document (merge.go).
package analysis

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// Assemble derives from a document's trials each arm's merged measures, the verdicts, the
// events and the warnings. The stored trials of a run whose process was killed can be
// assembled later.
func Assemble(d result.Document) result.Document {
	d.Arms = slices.Clone(d.Arms)
	d.Events, d.Warnings = nil, nil
	d.MachineWarnings = MachineWarnings(d)
	for _, w := range d.MachineWarnings {
		d.Warnings = append(d.Warnings, w.Text)
	}
	for i := range d.Arms {
		arm := &d.Arms[i]
		moveFiles(arm)
		if err := mergeTrials(arm); err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %v", place(*arm), err))
		}
		for _, t := range arm.Trials {
			for _, e := range t.Events {
				e.Arm, e.Cell, e.Round = arm.Name, arm.Cell, t.Round
				d.Events = append(d.Events, e)
			}
		}
		d.Warnings = append(d.Warnings, warnings(*arm)...)
	}
	d.Verdicts, d.Accounts = verdicts(d), accounts(d)
	d.Longer = longerRuns(d)
	return d
}

// Decided reports whether no headline verdict of the document's trials is open: each is decided, or more rounds
// cannot decide it.
func Decided(d result.Document) bool { return decided(Assemble(d).Verdicts) }

// DecidedIn reports the same for the verdicts on some arms in one cell.
func DecidedIn(d result.Document, cell result.Cell, arms []string) bool {
	return decided(slices.DeleteFunc(Assemble(d).Verdicts, func(v result.Verdict) bool { return v.Cell.Key() != cell.Key() || !slices.Contains(arms, v.A) }))
}

func decided(all []result.Verdict) bool {
	for _, v := range all {
		if !v.Secondary && v.Kind != result.OfControl && !settled(v) {
			return false
		}
	}
	return true
}
