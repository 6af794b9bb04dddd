package verdict

import "slices"

// Trend returns the two-sided p-value of the Mann-Kendall test: the probability that values without a trend
// rise or fall as consistently as these. It is exact, and 1 with fewer than three values. Equal values
// count for neither direction, which makes the test conservative.
//
// H. B. Mann, "Nonparametric Tests Against Trend", Econometrica 13(3), 1945.
func Trend(values []float64) float64 {
	n := len(values)
	if n < 3 {
		return 1
	}
	score := 0 // rising minus falling pairs
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
	// The number of inversions in the more consistent direction, rounded up if equal values make it
	// a half.
	most := (n*(n-1)/2 - max(score, -score) + 1) / 2
	var p float64
	for _, share := range inversions(n)[:most+1] {
		p += share
	}
	return min(2*p, 1)
}

// inversions returns, for each number of inversions, the share of permutations of n different values that
// have it. Value i adds 0 to i-1 inversions.
func inversions(n int) []float64 {
	shares := []float64{1}
	for i := 2; i <= n; i++ {
		next := make([]float64, len(shares)+i-1)
		sum := 0.0 // of the shares that value i moves to k inversions
		for k := range next {
			if k < len(shares) {
				sum += shares[k]
			}
			if k >= i {
				sum -= shares[k-i]
			}
			next[k] = sum / float64(i)
		}
		shares = next
	}
	return shares
}

// Slope returns the change from one value to the next, as the median over all pairs (Theil and Sen), which
// outliers do not affect. It is 0 for fewer than two values.
func Slope(values []float64) float64 {
	var slopes []float64
	for i, x := range values {
		for j, y := range values[i+1:] {
			slopes = append(slopes, (y-x)/float64(j+1))
		}
	}
	return Median(slopes)
}

// Median returns the middle value, or the mean of the middle two; 0 without values.
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
