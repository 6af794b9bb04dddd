package search

import "time"

// Plan is what to search for.
type Plan struct {
	From, To float64 // calls/s, From < To
	// Start is the first rate to try; 0: From. Searches with different starts try different rates,
	// so that the width of the bracket shows in the spread of their results.
	Start float64
	// Precision limits the ratio of the failing rate to the holding one, less 1: 0.02.
	Precision float64
	Duration  time.Duration // of a full-length probe
}

// Probe is a rate to try.
type Probe struct {
	Rate     float64 // calls/s
	Duration time.Duration
	Full     bool // false: a short probe, which only shows where to look
}

// Outcome is the result of a probe.
type Outcome int

// The outcomes of a probe.
const (
	Held    Outcome = iota // the objective was met
	Failed                 // the objective was not met
	Limited                // the load generator could not make the load
)
