package verdict

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBootstrapOfThreeValuesIsExact(t *testing.T) {
	// 27 resamples of 0, 3, 9, by their mean.
	want := distribution{{0, 1. / 27}, {1, 3. / 27}, {2, 3. / 27}, {3, 1. / 27}, {3, 3. / 27}, {4, 6. / 27},
		{5, 3. / 27}, {6, 3. / 27}, {7, 3. / 27}, {9, 1. / 27}}
	got := bootstrapMeans([]float64{9, 0, 3}, 1)
	less := func(a, b weighted) bool { return a.value < b.value || a.value == b.value && a.weight < b.weight }
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(weighted{}), cmpopts.EquateApprox(1e-12, 0), cmpopts.SortSlices(less)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBootstrapHasTheMomentsOfTheMean(t *testing.T) {
	for n := 2; n <= exactRounds+4; n++ {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = math.Sqrt(float64(i * i * i))
		}
		var weight, first, second float64
		for _, w := range bootstrapMeans(xs, 7) {
			weight += w.weight
			first += w.weight * w.value
			second += w.weight * square(w.value-mean(xs))
		}
		// Variance of the mean of draws with replacement: that of xs (divisor n) over n.
		variance := square(deviation(xs)) * float64(n-1) / float64(n*n)
		slack := 1e-9
		if n > exactRounds {
			slack = 0.05 // 10,000 draws
		}
		if diff := cmp.Diff([]float64{1, mean(xs), variance}, []float64{weight, first, second}, cmpopts.EquateApprox(slack, 0)); diff != "" {
			t.Errorf("%d values (-want +got):\n%s", n, diff)
		}
	}
}

func TestTailsAreCutFromBothEnds(t *testing.T) {
	d := distribution{{1, 0.1}, {2, 0.2}, {3, 0.4}, {4, 0.2}, {5, 0.1}}
	for _, c := range []struct{ p, lo, hi float64 }{{0.01, 1, 5}, {0.15, 2, 4}, {0.5, 3, 3}} {
		if lo, hi := d.tails(c.p); lo != c.lo || hi != c.hi {
			t.Errorf("tails(%g) = %g, %g; want %g, %g", c.p, lo, hi, c.lo, c.hi)
		}
	}
}

func TestExpandedTailWidensForFewValues(t *testing.T) {
	// Φ(-√(n/(n-1))·t), with t from the printed tables.
	for _, c := range []struct {
		n       int
		t, tail float64
	}{{4, 3.182446, 1.19e-4}, {5, 2.776445, 9.54e-4}, {20, 2.093024, 1.588e-2}, {1000, 1.962341, 2.4836e-2}} {
		got := expandedTail(c.n, 0.05)
		if diff := cmp.Diff([]float64{c.t, c.tail}, []float64{student(c.n, 0.05), got}, cmpopts.EquateApprox(2e-3, 0)); diff != "" {
			t.Errorf("%d values (-want +got):\n%s", c.n, diff)
		}
	}
}
