package verdict

import "math"

// student is the factor t(1-alpha/2, n-1) of a two-sided interval of n values.
func student(n int, alpha float64) float64 { return studentOf(float64(n-1), alpha) }

func studentOf(freedom, alpha float64) float64 {
	return -studentQuantile(alpha/2, freedom)
}

// expandedTail returns the probability to cut off on each side of the bootstrap distribution of n values. With
// alpha/2 the interval would be too narrow by the factor √((n-1)/n), and would use z instead of t (Hesterberg
// 2015, "What Teachers Should Know About the Bootstrap", The American Statistician 69(4), 371–386).
func expandedTail(n int, alpha float64) float64 {
	f := float64(n)
	return normalBelow(-math.Sqrt(f/(f-1)) * student(n, alpha))
}

func mean(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// deviation is the sample standard deviation (divisor n-1); exactly 0 for equal values.
func deviation(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		// Subtract the first value, so that equal values cause no rounding error.
		sum += x - xs[0]
	}
	m := xs[0] + sum/float64(len(xs))
	var squares float64
	for _, x := range xs {
		squares += (x - m) * (x - m)
	}
	return math.Sqrt(squares / float64(len(xs)-1))
}
