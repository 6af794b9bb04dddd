package report

import (
	"math"

	"rpclab/internal/result"
)

// shares says how calls fell on backends, trial by trial: every trial draws its
// connections anew, so the sum over trials would hide an uneven one.
type shares struct {
	backends        int     // in a trial
	idlest, busiest float64 // share of the calls, median over trials
	off             float64 // largest distance from a fair share in any trial, relative to it
	byOne           bool    // in every trial, counts differ by one call at most
	allOnOne        bool    // in every trial, one backend got all calls
}

// spread is not ok when there are no calls, or fewer than two backends.
func spread(a result.Arm) (s shares, ok bool) {
	s = shares{byOne: true, allOnOne: true}
	var low, high []float64
	for _, backends := range perTrial(a) {
		least, most, total := uint64(math.MaxUint64), uint64(0), uint64(0)
		for _, calls := range backends {
			least, most, total = min(least, calls), max(most, calls), total+calls
		}
		if total == 0 || len(backends) < 2 {
			continue
		}
		s.backends = max(s.backends, len(backends))
		low = append(low, float64(least)/float64(total))
		high = append(high, float64(most)/float64(total))
		fair := float64(total) / float64(len(backends))
		s.off = max(s.off, float64(most)/fair-1, 1-float64(least)/fair)
		s.byOne = s.byOne && most-least <= 1
		s.allOnOne = s.allOnOne && most == total
	}
	s.idlest, s.busiest = median(low), median(high)
	return s, len(low) > 0
}

func perTrial(a result.Arm) []map[string]uint64 {
	var all []map[string]uint64
	for _, t := range a.Trials {
		all = append(all, t.Backends)
	}
	if len(all) == 0 {
		all = append(all, a.Backends)
	}
	return all
}

type pattern string

const (
	allOnOne pattern = "one"
	even     pattern = "even"
	random   pattern = "random"
	uneven   pattern = "uneven"
)

const (
	evenWithin   = 0.01  // of a fair share
	chanceEnough = 0.001 // at a lower p-value we do not call it chance
)

// patternOf names what was seen. Few calls in turn can look like chance, and many
// at random look even: where both hold, what the route should do decides.
func patternOf(a result.Arm, s shares, expected pattern) pattern {
	fits := a.Balance.PRandom > chanceEnough
	switch {
	case s.allOnOne:
		return allOnOne
	case fits && expected == random:
		return random
	case s.off <= evenWithin || s.byOne:
		return even
	case fits:
		return random
	}
	return uneven
}
