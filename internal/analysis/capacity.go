package analysis

import (
	"fmt"
	"math"

	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// SummarizeSearch fills in what follows from the capacity search of a trial: at which rate the load
// generator was the bottleneck, and why no rate held. trial has the measures of the full-length
// probe at the highest rate that held.
func SummarizeSearch(trial result.Trial, found result.Capacity) result.Trial {
	trial.Capacity, trial.Limited, trial.LimitedBy, trial.Failed = &found, "", "", ""
	if found.End == string(search.Interrupted) {
		trial.Failed = fmt.Sprintf("interrupted after %d probes", len(found.Probes))
		if len(found.Probes) == 1 {
			trial.Failed = "interrupted after 1 probe"
		}
		return trial
	}
	if found.End == string(search.GeneratorLimited) {
		trial.Limited = generatorLimitOf(found.Probes)
	}
	if found.Holds == 0 {
		trial.Failed = "no rate was found at which " + found.SLO + " holds: " + noneHeld(found, trial.Limited)
	}
	return trial
}

// wasInterrupted says that an interrupt ended the search of a trial: the run has its probes, but the round is not complete.
func wasInterrupted(t result.Trial) bool {
	return t.Capacity != nil && t.Capacity.End == string(search.Interrupted)
}

// lowestFailed says that not even the lowest rate of a search held.
func lowestFailed(t result.Trial) bool {
	return t.Capacity != nil && t.Capacity.End == string(search.LowestFails)
}

// highestHolds says that even the highest rate of a search held.
func highestHolds(t result.Trial) bool {
	return t.Capacity != nil && t.Capacity.End == string(search.HighestHolds)
}

// noneHeld says why a search found no rate that holds, and what to change.
func noneHeld(found result.Capacity, limited string) string {
	switch search.End(found.End) {
	case search.GeneratorLimited:
		return "the load generator was the bottleneck " + limited + "; lower load.search.from (rpclab load: --search-from), or use a faster machine"
	case search.OutOfProbes:
		return fmt.Sprintf("%d probes were too few; make load.search.duration longer (rpclab load: --duration)", len(found.Probes))
	}
	return "not even " + rateText(lowestRate(found)) + ", the lowest; lower load.search.from (rpclab load: --search-from), or ask for less"
}

// lowestRate returns the lowest rate that a search tried.
func lowestRate(found result.Capacity) float64 {
	lowest := math.Inf(1)
	for _, p := range found.Probes {
		lowest = min(lowest, p.Rate)
	}
	return lowest
}

// generatorLimitOf says at the lowest rate of a full-length probe why the load generator was the
// bottleneck.
func generatorLimitOf(probes []result.Probe) string {
	text, lowest := "", math.Inf(1)
	for _, p := range probes {
		if p.Full && p.Limited != "" && p.Rate < lowest {
			text, lowest = fmt.Sprintf("at %s %s", rateText(p.Rate), p.Limited), p.Rate
		}
	}
	return text
}

// rateText has three digits of a rate, or all of those before the decimal point.
func rateText(rate float64) string {
	if rate < 99.5 {
		return fmt.Sprintf("%.3g/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}
