package verdict

import "slices"

// Trend is the two-sided p-value of the Mann-Kendall test: how likely values without
// any trend, in the order in which they were measured, rise or fall together as
// consistently as these do. It is exact, and 1 with fewer than three values. Equal
// values count for neither direction, which only makes it more careful.
//
// H. B. Mann, "Nonparametric Tests Against Trend", Econometrica 13(3), 1945.
func Trend(values []float64) float64 {
	n := len(values)
	if n < 3 {
		return 1
	}
	score := 0 // rising pairs less falling ones
	for i, x := range values {
		for _, y := range values[i+1:] {
			switch {
			case y > x:
				score++
			case y < x:
				score--
			}
		}
	}
	// As many inversions or fewer than the more consistent direction has, rounded up
	// where equal values leave half of one.
	most := (n*(n-1)/2 - max(score, -score) + 1) / 2
	var p float64
	for _, share := range inversions(n)[:most+1] {
		p += share
	}
	return min(2*p, 1)
}

// inversions is, for each number of inversions, the share of the orders of n
// different values that have it: each value adds none to as many as are before it.
func inversions(n int) []float64 {
	shares := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(shares)+i-1)
		for k, share := range shares {
			for add := range i {
				next[k+add] += share / float64(i)
			}
		}
		shares = next
	}
	return shares
}

// Slope is the change from one value to the next, as the median of that between any
// two (Theil and Sen): a few wild values do not move it. It is 0 for fewer than two.
func Slope(values []float64) float64 {
	var slopes []float64
	for i, x := range values {
		for j, y := range values[i+1:] {
			slopes = append(slopes, (y-x)/float64(j+1))
		}
	}
	return Median(slopes)
}

// Median is the middle of the values, or the mean of the middle two; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
