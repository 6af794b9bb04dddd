package report

import "rpclab/internal/result"

// TimelineTrials is the trial of each arm in a cell whose course over time is drawn: of the round
// that most arms have one of, else of the arm's first. An arm without any is left out.
func TimelineTrials(d result.Document, cell result.Cell) map[string]result.Trial {
	arms := armsIn(d, cell)
	round := roundDrawn(arms)
	trials := map[string]result.Trial{}
	for _, arm := range arms {
		if trial, ok := timelineOf(arm, round); ok {
			trials[arm.Name] = trial
		}
	}
	return trials
}

// Cells are the points of a run's sweep, in the order of the document; without a sweep one
// that is empty.
func Cells(d result.Document) []result.Cell { return cells(d) }

// CellName is "burst = 2,000": the last part of each path where that is clear, "" without a
// sweep.
func CellName(c result.Cell) string { return cellName(c) }

// PublishedFor is the study's figure for an arm in its cell, where one can stand beside it.
func PublishedFor(d result.Document, a result.Arm) (result.Published, bool) {
	return publishedFor(d, a)
}

// Clean is text from outside that is safe to show: one line, without control characters and
// code marks.
func Clean(text string) string { return clean(text) }

// Effect is what one event of the plan led to in one arm, over all rounds: the failed calls
// together, and the median of each time in milliseconds, +Inf where it was not seen.
type Effect struct {
	Arm, What       string
	Place           int     // of the event in its trial, from 0
	At              float64 // seconds from the start of the load
	Failed          uint64
	ResolverUpdated float64 // until the resolver was updated
	FirstCall       float64 // until the first answer of a new backend
	Balanced        float64 // until the balance was restored
}

// Effects are those of all events in a cell.
func Effects(d result.Document, cell result.Cell) (all []Effect) {
	if len(d.Events) == 0 {
		return nil
	}
	for _, h := range eventOutcomes(d, cell) {
		all = append(all, Effect{Arm: h.arm, What: clean(h.what), Place: h.place, At: median(h.at), Failed: h.failed,
			ResolverUpdated: median(h.took[resolverUpdated]), FirstCall: median(h.took[firstCall]), Balanced: median(h.took[balancedAgain])})
	}
	return all
}
