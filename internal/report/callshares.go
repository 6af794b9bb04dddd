package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"rpclab/internal/result"
)

// shares says how calls fell on backends, trial by trial: every trial draws its
// connections anew, so the sum over trials would hide an uneven one.
type shares struct {
	backends        int     // in a trial
	idlest, busiest float64 // share of the calls, median over trials
	off             float64 // largest distance from a fair share in any trial, relative to it
	byOne           bool    // in every trial, counts differ by one call at most
	bars            string  // of the trial in the middle, a bar for each backend, the busiest first
}

// callShares is not ok when there are no calls, or fewer than two backends.
func callShares(a result.Arm) (s shares, ok bool) {
	s = shares{byOne: true}
	var low, high []float64
	var all [][]uint64
	for _, backends := range groups(a) {
		if len(backends) < 2 {
			continue
		}
		total := uint64(0)
		for _, calls := range backends {
			total += calls
		}
		if total == 0 {
			continue
		}
		least, most := slices.Min(backends), slices.Max(backends)
		all = append(all, backends)
		s.backends = max(s.backends, len(backends))
		low = append(low, float64(least)/float64(total))
		high = append(high, float64(most)/float64(total))
		fair := float64(total) / float64(len(backends))
		s.off = max(s.off, float64(most)/fair-1, 1-float64(least)/fair)
		s.byOne = s.byOne && most-least <= 1
	}
	if len(low) == 0 {
		return shares{}, false
	}
	s.idlest, s.busiest = median(low), median(high)
	middle := 0
	for i := range high {
		if math.Abs(high[i]-s.busiest) < math.Abs(high[middle]-s.busiest) {
			middle = i
		}
	}
	s.bars = barOfEach(all[middle])
	return s, true
}

// mostBars is how many a table has room for; of more backends each is of some of them.
const mostBars = 12

func barOfEach(backends []uint64) string {
	calls := make([]float64, len(backends))
	for i, n := range backends {
		calls[i] = float64(n)
	}
	slices.SortFunc(calls, func(a, b float64) int { return cmp.Compare(b, a) })
	return spark(fit(calls, min(len(calls), mostBars)), calls[0])
}

// groups are the counts that belong together: as the trials name them; in documents
// that do not, the counts of each trial.
func groups(a result.Arm) [][]uint64 {
	var all [][]uint64
	for _, t := range a.Trials {
		if len(t.Groups) > 0 {
			all = append(all, t.Groups...)
			continue
		}
		all = append(all, slices.Collect(maps.Values(t.Backends)))
	}
	if len(a.Trials) == 0 {
		all = append(all, slices.Collect(maps.Values(a.Backends)))
	}
	return all
}
