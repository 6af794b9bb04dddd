package verdict

import "math"

// Outlier returns the index of an outlier, or -1. Normally distributed values have a false outlier with a
// probability of at most alpha. Fewer than five values have no outlier.
//
// It is the two-sided test of F. E. Grubbs, "Procedures for Detecting Outlying
// Observations in Samples", Technometrics 11(1), 1969.
func Outlier(values []float64, alpha float64) int {
	n := float64(len(values))
	if n < 5 {
		return -1
	}
	m, s := mean(values), deviation(values)
	if !(s > 0) {
		return -1
	}
	farthest, distance := -1, 0.0
	for i, x := range values {
		if d := math.Abs(x-m) / s; d > distance {
			farthest, distance = i, d
		}
	}
	t := studentQuantile(alpha/(2*n), n-2)
	if distance > (n-1)/math.Sqrt(n)*math.Sqrt(t*t/(n-2+t*t)) {
		return farthest
	}
	return -1
}
