// Package analysis derives from recorded trials everything that follows from them: measures,
// verdicts, warnings and comparisons. It is pure: it takes and returns values, and starts,
// reads and waits for nothing.
package analysis

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Assemble derives from a document's trials each arm's merged measures, the verdicts, the
// events and the warnings. The stored trials of a run whose process was killed can be
// assembled later.
func Assemble(d result.Document) result.Document {
	d.Arms = slices.Clone(d.Arms)
	d.Events, d.Warnings = nil, nil
	for i := range d.Arms {
		arm := &d.Arms[i]
		moveFiles(arm)
		if err := merge(arm); err != nil {
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
	return d
}

// Decided says whether every headline verdict of the document's trials is decided, or more
// rounds cannot decide it.
func Decided(d result.Document) bool {
	for _, v := range Assemble(d).Verdicts {
		if !v.Secondary && !v.Unfit && v.Kind != "control" && v.Decision == string(verdict.Undecided) {
			return false
		}
	}
	return true
}
