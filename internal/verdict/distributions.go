package verdict

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Package distuv of gonum has these functions too. It imports gonum's linear algebra, which takes long to compile
// (docs/decisions/0044-size.md).

// normalBelow is the probability that a standard normal variable is below x.
func normalBelow(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// studentBelow is the probability that a variable with Student's t distribution is below x, which is at most 0.
func studentBelow(x, freedom float64) float64 {
	if x == 0 {
		return 0.5 // for any freedom
	}
	return 0.5 * mathext.RegIncBeta(freedom/2, 0.5, freedom/(x*x+freedom))
}

// studentQuantile inverts [studentBelow] for a probability of at most 0.5.
func studentQuantile(p, freedom float64) float64 {
	t := mathext.InvRegIncBeta(freedom/2, 0.5, 2*p)
	return -math.Sqrt(freedom * (1 - t) / t)
}

// chiSquareQuantile inverts the distribution of chi-square.
func chiSquareQuantile(p, freedom float64) float64 { return 2 * mathext.GammaIncRegInv(freedom/2, p) }

// headsBelow is the probability of at most k heads in n throws of a coin; k is less than n.
func headsBelow(k, n int) float64 { return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5) }
