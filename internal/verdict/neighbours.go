package verdict

import (
	"math"
	"sort"
)

// neighbours compares two arms by the order of their values and allows for what consecutive values share. The statistic of
// Mann and Whitney is the mean of placements: of each value, the share of the other arm's values below it. The uncertainty of
// that mean is the one of consecutive values, and at least that of equal arms.
//
// E. R. DeLong et al., "Comparing the Areas under Two or More Correlated Receiver Operating Characteristic Curves",
// Biometrics 44(3), 1988, use placements of independent values.
type neighbours struct {
	a, b   []float64 // logarithms; +Inf: never
	paired bool      // values with the same index are of the same round
}

// byOrder is the share of the error for the order of the values. The rest is for the values themselves, because a few rounds
// whose values are far apart tell more than their order.
const byOrder = 0.8

func neighboursOf(a, b []float64, paired bool) neighbours {
	n := neighbours{paired: paired}
	for _, x := range a {
		n.a = append(n.a, math.Log(x))
	}
	for _, y := range b {
		n.b = append(n.b, math.Log(y))
	}
	return n
}

// of returns the difference of the means of two samples, and its uncertainty.
func (n neighbours) of(a, b []float64) (difference float64, u uncertainty) {
	if !n.paired {
		both := unpaired{b, a}
		return both.difference(), both.dependent()
	}
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i] - b[i]
	}
	return mean(differences), dependent(differences, nil)
}

// byPlacement returns by how many standard errors the probability that a value of a, less shift, exceeds one of b differs
// from 1/2, as the difference of means of [neighbours.of] and its uncertainty.
func (n neighbours) byPlacement(shift float64) (difference float64, u uncertainty) {
	above, below := make([]float64, len(n.a)), make([]float64, len(n.b)) // shares of b and, negative, of a
	sizeA, sizeB := float64(len(n.a)), float64(len(n.b))
	for i, x := range n.a {
		for j, y := range n.b {
			share := 0.0
			switch {
			case x-shift > y:
				share = 1
			case !(x-shift < y):
				share = 0.5
			}
			above[i] += share / sizeB
			below[j] -= share / sizeA
		}
	}
	twice, u := n.of(above, below) // both means are the probability, and its error is the sum of those of both
	seen := square(deviation(above))/sizeA + square(deviation(below))/sizeB
	if ofEqualArms := (1/sizeA + 1/sizeB) / 12; seen < ofEqualArms {
		return (twice - 1) / 2 * math.Sqrt(seen/ofEqualArms), u
	}
	return (twice - 1) / 2, u
}

// interval returns the shifts that are not excluded. sorted are those of all pairs of values. The decisive ones count by
// themselves, because those that are not excluded need not be one piece.
func (n neighbours) interval(sorted []float64, alpha float64, decisive ...float64) (lo, hi float64) {
	center, half := 0.0, math.Inf(1) // of the interval by value
	if !math.IsInf(sorted[0], 0) && !math.IsInf(sorted[len(sorted)-1], 0) {
		var u uncertainty
		center, u = n.of(n.a, n.b)
		half = u.half((1 - byOrder) * alpha)
	}
	excluded := func(shift float64) bool {
		difference, u := n.byPlacement(shift)
		return u.beyond(difference) < byOrder*alpha || math.Abs(shift-center) > half
	}
	const offset = 1e-9 // at a shift itself two values are equal
	middle := len(sorted) / 2
	above := middle + sort.Search(len(sorted)-1-middle, func(i int) bool { return excluded(sorted[middle+i] + offset) })
	below := middle - sort.Search(middle, func(i int) bool { return excluded(sorted[middle-i] - offset) })
	lo, hi = sorted[below], sorted[above]
	if !excluded(sorted[0] - offset) { // the order is the same for all shifts below
		lo = center - half
	}
	if !excluded(sorted[len(sorted)-1] + offset) {
		hi = center + half
	}
	for _, shift := range decisive {
		if (shift < lo || shift > hi) && !excluded(shift) {
			lo, hi = min(lo, shift), max(hi, shift)
		}
	}
	return lo, hi
}

// rounds returns with how many rounds the interval would exclude 1, if the noise stays.
func (n neighbours) rounds(alpha float64) int {
	have := float64(min(len(n.a), len(n.b)))
	difference, u := n.byPlacement(0)
	needed := have * square(u.half(byOrder*alpha)/difference)
	if center, u := n.of(n.a, n.b); !math.IsNaN(center) && !math.IsInf(center, 0) {
		byValue := have * square(u.half((1-byOrder)*alpha)/center)
		if !(needed <= byValue) { // also if the order says nothing
			needed = byValue
		}
	}
	if needed <= maxAdvisedRounds {
		return int(max(math.Ceil(needed), have+1))
	}
	return maxAdvisedRounds + 1
}
