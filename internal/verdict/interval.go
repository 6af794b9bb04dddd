package verdict

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// interval covers the mean of the population that xs (at least 2) come from with
// confidence 1-alpha. It reaches on either side as far as the farther of two:
//
//   - Student's t interval, which is right for normal values however few, and is
//     not bound to the range that was seen;
//   - the bootstrap percentile interval with the small-sample expansion of
//     Hesterberg (2015), which follows a skew that Student's cannot see.
func interval(xs []float64, alpha float64, seed uint64) (lo, hi float64) {
	m := mean(xs)
	half := student(len(xs), alpha) * deviation(xs) / math.Sqrt(float64(len(xs)))
	lo, hi = bootstrapMeans(xs, seed).tails(expandedTail(len(xs), alpha))
	return min(m-half, lo), max(m+half, hi)
}

// student is the factor t(1-alpha/2, n-1) of a two-sided interval of n values.
func student(n int, alpha float64) float64 { return studentOf(float64(n-1), alpha) }

func studentOf(freedom, alpha float64) float64 {
	return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(alpha / 2)
}

// expandedTail is the probability to cut off on either side of the bootstrap
// distribution of n values instead of alpha/2, which would be too narrow by the
// factor √((n-1)/n) and by z for t (Hesterberg 2015, "What Teachers Should Know
// About the Bootstrap", The American Statistician 69(4), 371–386).
func expandedTail(n int, alpha float64) float64 {
	f := float64(n)
	return distuv.UnitNormal.CDF(-math.Sqrt(f/(f-1)) * student(n, alpha))
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
		// Around the first value, so that equal values leave no rounding behind.
		sum += x - xs[0]
	}
	m := xs[0] + sum/float64(len(xs))
	var squares float64
	for _, x := range xs {
		squares += (x - m) * (x - m)
	}
	return math.Sqrt(squares / float64(len(xs)-1))
}
