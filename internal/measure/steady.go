package measure

import "slices"

const (
	// steadyWindows is how many seconds are compared with as many before them.
	steadyWindows = 3
	// steadyChange is the largest relative change between the two that counts as none.
	steadyChange = 0.05
)

// Steady judges whether a load is steady: rate and median latency of its last three seconds do not
// differ from those of the three seconds before. A median differs when it is more than 5 % away and
// outside the range of the earlier seconds. The zero Steady has seen nothing.
type Steady struct{ rates, medians []float64 }

// Add adds a second of the load and reports whether the load is steady. A second without answers is
// a second at rate 0 and starts the judgement again.
func (s *Steady) Add(rate, median float64) bool {
	if rate == 0 {
		*s = Steady{}
		return false
	}
	s.rates, s.medians = append(s.rates, rate), append(s.medians, median)
	return settled(s.rates) && settled(s.medians)
}

func settled(values []float64) bool {
	if len(values) < 2*steadyWindows {
		return false
	}
	values = slices.Clone(values[len(values)-2*steadyWindows:])
	before, after := values[:steadyWindows], values[steadyWindows:]
	slices.Sort(before)
	slices.Sort(after)
	was, is := before[steadyWindows/2], after[steadyWindows/2]
	return is >= min(before[0], was*(1-steadyChange)) && is <= max(before[steadyWindows-1], was*(1+steadyChange))
}
