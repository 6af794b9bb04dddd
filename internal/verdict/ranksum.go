package verdict

import "github.com/aclements/go-moremath/stats"

// RankSum is the two-sided p-value of the Mann-Whitney U test that the values of two arms come
// from the same distribution. The test looks at the order of the values only, not at the rounds.
// The p-value is 1 when an arm has no value or when all values are equal. It is exact up to 50
// values in an arm, with ties up to 25; beyond, it is by the normal distribution.
//
// H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is
// Stochastically Larger than the Other", Ann. Math. Statist. 18(1), 1947.
func RankSum(a, b []float64) float64 {
	// The library's two-sided test is wrong for ties in arms of different sizes (decision 25).
	less, err := stats.MannWhitneyUTest(a, b, stats.LocationLess)
	if err != nil {
		return 1
	}
	greater, err := stats.MannWhitneyUTest(b, a, stats.LocationLess)
	if err != nil {
		return 1
	}
	return min(2*min(less.P, greater.P), 1)
}
