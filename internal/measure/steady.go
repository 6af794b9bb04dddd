package measure

import (
	"cmp"
	"slices"
	"time"
)

const (
	// steadyWindows is how many windows are compared with as many before them.
	steadyWindows = 3
	// steadyChange is the largest relative change between the two that counts as none.
	steadyChange = 0.05
)

// Steady judges whether a load is steady: rate and median latency of its last three windows do not differ
// from those of the three windows before. A median differs when it is more than 5 % away and outside the
// range of the earlier windows. A window is a second, or as many as a call takes and as it takes until each
// of the six has answers. The zero Steady has seen nothing.
type Steady struct {
	seconds []second // from the first with answers
	silent  int      // seconds before
}

// second is a second of a load.
type second struct {
	rate   float64 // of answers
	median time.Duration
}

// Add adds a second of the load and reports whether the load is steady.
func (s *Steady) Add(rate float64, median time.Duration) bool {
	if rate == 0 && len(s.seconds) == 0 {
		s.silent++
		return false
	}
	s.seconds = append(s.seconds, second{rate, median})
	for length := s.shortest(); 2*steadyWindows*length <= len(s.seconds); length++ {
		rates, medians, answered := s.windows(length)
		if answered {
			return settled(rates) && settled(medians)
		}
	}
	return false
}

// Needs returns how long the load must last at least to be steady.
func (s *Steady) Needs() time.Duration {
	return time.Duration(s.silent+2*steadyWindows*s.shortest()) * SnapshotInterval
}

// shortest returns the length of the shortest window that fits the calls of the last answers, in seconds.
func (s *Steady) shortest() int {
	for _, last := range slices.Backward(s.seconds) {
		if last.rate > 0 {
			return max(1, int((last.median+SnapshotInterval-1)/SnapshotInterval))
		}
	}
	return 1
}

// windows returns the rates and medians of the last windows of a length. answered is false if one has no
// answers.
func (s *Steady) windows(length int) (rates, medians []float64, answered bool) {
	for window := range slices.Chunk(s.seconds[len(s.seconds)-2*steadyWindows*length:], length) {
		rate, median := totals(window)
		if rate == 0 {
			return nil, nil, false
		}
		rates, medians = append(rates, rate), append(medians, median)
	}
	return rates, medians, true
}

// totals returns the rate of a window and the median of its seconds' medians, each as often as it had answers.
func totals(window []second) (rate, median float64) {
	for _, s := range window {
		rate += s.rate
	}
	ordered := slices.SortedFunc(slices.Values(window), func(a, b second) int { return cmp.Compare(a.median, b.median) })
	half := rate / 2
	for _, s := range ordered {
		if half -= s.rate; s.rate > 0 && half <= 0 {
			return rate, float64(s.median)
		}
	}
	return rate, 0
}

// settled reports whether the later half of the windows is as the earlier one.
func settled(values []float64) bool {
	before, after := values[:steadyWindows], values[steadyWindows:]
	slices.Sort(before)
	slices.Sort(after)
	was, is := before[steadyWindows/2], after[steadyWindows/2]
	return is >= min(before[0], was*(1-steadyChange)) && is <= max(before[steadyWindows-1], was*(1+steadyChange))
}
