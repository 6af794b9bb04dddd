package verdict

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestDistributionsAreThoseOfALibrary(t *testing.T) {
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	for _, x := range []float64{-40, -6, -1.96, -0.3, 0, 0.5, 4} {
		same("normalBelow", normalBelow(x), distuv.UnitNormal.CDF(x))
	}
	for _, freedom := range []float64{1, 2.5, 4, 30, 1e4} {
		student, square := distuv.StudentsT{Sigma: 1, Nu: freedom}, distuv.ChiSquared{K: freedom}
		for _, x := range []float64{-1e3, -6, -1.96, -0.3, 0} {
			same("studentBelow", studentBelow(x, freedom), student.CDF(x))
		}
		for _, p := range []float64{1e-9, 0.001, 0.025, 0.4, 0.5} {
			same("studentQuantile", studentQuantile(p, freedom), student.Quantile(p))
			same("chiSquareQuantile", chiSquareQuantile(1-p, freedom), square.Quantile(1-p))
		}
	}
	for _, n := range []int{1, 2, 7, 1000} {
		for k := range min(n, 50) {
			same("headsBelow", headsBelow(k, n), distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k)))
		}
	}
}
