package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rpclab/internal/testkit"
)

// TestTrendMatchesTheTableOfKendall tests values that only rise, in few rounds and in more. The shares are
// those of the orders of n values with so many inversions.
func TestTrendMatchesTheTableOfKendall(t *testing.T) {
	for _, c := range []struct {
		values []float64
		p      float64
	}{
		{[]float64{1, 2}, 1},
		{[]float64{1, 2, 3}, 2.0 / 6},
		{[]float64{3, 2, 1}, 2.0 / 6},
		{[]float64{1, 2, 3, 4}, 2.0 / 24},
		{[]float64{1, 2, 3, 4, 5}, 2.0 / 120},
		{[]float64{1, 2, 3, 5, 4}, 2 * 5.0 / 120},
		{[]float64{5, 3, 2, 4, 1}, 2 * 14.0 / 120}, // 2 of the 10 pairs rise: 1 + 4 + 9 orders have so few
		{[]float64{7, 7, 7, 7, 7}, 1},
	} {
		if got := Trend(c.values); math.Abs(got-c.p) > 1e-12 {
			t.Errorf("Trend(%v) = %.6f, want %.6f", c.values, got, c.p)
		}
	}
}

// TestTrendWithEqualValuesIsConservative checks that the p-value is at least the share of all orders of the
// values that are as consistent.
func TestTrendWithEqualValuesIsConservative(t *testing.T) {
	for _, values := range [][]float64{{1, 1, 2, 3}, {1, 2, 2, 3, 4}, {1, 1, 2, 2, 3}, {1, 1, 1, 2, 3}, {1, 1, 2, 3, 4, 5}, {1, 2, 3, 3, 3, 4}} {
		p, all, asConsistent := Trend(values), 0, 0
		orders(slices.Clone(values), func(order []float64) {
			all++
			if Trend(order) <= p {
				asConsistent++
			}
		})
		if share := float64(asConsistent) / float64(all); share > p+1e-12 {
			t.Errorf("Trend(%v) = %.3f, but %.3f of the orders are as consistent, want at most as many", values, p, share)
		}
	}
}

// orders calls with every order of the values.
func orders(values []float64, call func([]float64)) {
	var from func(i int)
	from = func(i int) {
		if i == len(values) {
			call(values)
		}
		for j := i; j < len(values); j++ {
			values[i], values[j] = values[j], values[i]
			from(i + 1)
			values[i], values[j] = values[j], values[i]
		}
	}
	from(0)
}

// TestOutlierMatchesTheTableOfGrubbs uses the critical values of the two-sided test at 5 %: 1.715 for 5 values
// and 2.290 for 10.
func TestOutlierMatchesTheTableOfGrubbs(t *testing.T) {
	for _, c := range []struct {
		n        int
		critical float64
	}{{5, 1.715}, {10, 2.290}} {
		for _, off := range []float64{-0.01, +0.01} {
			values := withOneOff(c.n, c.critical+off)
			want := -1
			if off > 0 {
				want = c.n - 1
			}
			if got := Outlier(values, 0.05); got != want {
				t.Errorf("%d values, one %.3f deviations off: the outlier is %d, want %d", c.n, c.critical+off, got, want)
			}
		}
	}
	for name, values := range map[string][]float64{"four": {1, 1, 1, 1e9}, "equal": {2, 2, 2, 2, 2, 2}} {
		if got := Outlier(values, 0.05); got != -1 {
			t.Errorf("%s: the outlier is %d, want -1", name, got)
		}
	}
}

// withOneOff returns n values. The last is a number of deviations from the mean, and the others are distributed
// evenly about their mean.
func withOneOff(n int, deviations float64) []float64 {
	values := make([]float64, n)
	for i := range n - 1 {
		values[i] = float64(2*(i%2) - 1)
	}
	if n%2 == 0 {
		values[n-2] = 0
	}
	lo, hi := 0.0, 1e6
	for range 200 { // the distance grows with the value
		values[n-1] = (lo + hi) / 2
		if (values[n-1]-mean(values))/deviation(values) < deviations {
			lo = values[n-1]
		} else {
			hi = values[n-1]
		}
	}
	return values
}

// TestRankSumMatchesTheTableOfMannAndWhitney compares with the exact shares of the splits.
func TestRankSumMatchesTheTableOfMannAndWhitney(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		p    float64
	}{
		{nil, []float64{1}, 1},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		{[]float64{5, 6, 7, 8}, []float64{1, 2, 3, 4}, 2.0 / 70},
		{[]float64{1, 2, 4}, []float64{3, 5, 6}, 2 * 2.0 / 20},
		{[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},
		{[]float64{1, 1}, []float64{1, 2}, 1}, // half of the splits have both low ones
		{[]float64{0, 0, 0, 1}, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2 * 4.0 / 14},
		{[]float64{0, 1, 1, 0}, []float64{0, 0, 0, 0, 0, 0, 0, 0}, 2 * 6.0 / 66},
	} {
		if got := RankSum(c.a, c.b); math.Abs(got-c.p) > 1e-12 {
			t.Errorf("RankSum(%v, %v) = %.6f, want %.6f", c.a, c.b, got, c.p)
		}
	}
}

// TestNormalRankSumAgreesWithTheExactOne: with a tie among 50 values, RankSum uses the normal distribution.
func TestNormalRankSumAgreesWithTheExactOne(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	for range 20 {
		a, b := make([]float64, 50), make([]float64, 50)
		for i := range a {
			a[i], b[i] = r.NormFloat64(), r.NormFloat64()+0.5
		}
		exact := RankSum(a, b)
		slices.Sort(a)
		a[49] = a[48]
		if about := RankSum(a, b); math.Abs(exact-about) > 0.02 {
			t.Errorf("the exact p is %.4f, by the normal distribution %.4f, want a difference of at most 0.02", exact, about)
		}
	}
}

// TestGuardsRarelyRaiseFalseAlarms uses values without trend or outlier, and arms that are the same. A share of
// at most u of the cases may have a p-value of u or less.
func TestGuardsRarelyRaiseFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 22))
	n := 10 * *testkit.Sims
	for _, rounds := range []int{4, 5, 8, 20} {
		trends, outliers, ranks := 0, 0, 0
		for range n {
			a, b := make([]float64, rounds), make([]float64, rounds)
			for i := range a {
				a[i], b[i] = r.NormFloat64(), r.NormFloat64()
			}
			if Trend(a) <= 0.05 {
				trends++
			}
			if Outlier(a, 0.05) >= 0 {
				outliers++
			}
			if RankSum(a, b) <= 0.05 {
				ranks++
			}
		}
		for name, count := range map[string]int{"trend": trends, "outlier": outliers, "ranks": ranks} {
			if testkit.TooMany(count, n, 0.05) {
				t.Errorf("%s, %d rounds: %d of %d cases have p ≤ 0.05, want at most 5 %%", name, rounds, count, n)
			}
		}
	}
}

func TestLooksDoubleAndEndWithTheLast(t *testing.T) {
	for _, c := range []struct {
		first, last int
		want        []int
	}{{4, 4, []int{4}}, {1, 3, []int{1, 2, 3}}, {4, 5, []int{5}}, {4, 6, []int{4, 6}}, {5, 10, []int{5, 10}}, {4, 30, []int{4, 8, 16, 30}}, {5, 60, []int{5, 10, 20, 40, 60}}} {
		if got := Looks(c.first, c.last); !slices.Equal(got, c.want) {
			t.Errorf("Looks(%d, %d) = %v, want %v", c.first, c.last, got, c.want)
		}
	}
}
