package verdict

import (
	"math"
	"testing"
)

func TestInversionsAreCountedOneByOne(t *testing.T) {
	want := []float64{1}
	for n := 2; n <= 20; n++ {
		next := make([]float64, len(want)+n-1)
		for k, share := range want {
			for add := range n { // value n adds 0 to n-1 inversions
				next[k+add] += share / float64(n)
			}
		}
		want = next
		got := inversions(n)
		if len(got) != len(want) {
			t.Fatalf("%d values have %d numbers of inversions, want %d", n, len(got), len(want))
		}
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-15 {
				t.Errorf("a share of %g of the permutations of %d values has %d inversions, want %g", got[k], n, k, want[k])
			}
		}
	}
}

func TestTheTrendOfManyValues(t *testing.T) {
	if p := Trend(make([]float64, 300)); p != 1 {
		t.Errorf("equal values have p = %g, want 1", p)
	}
	rising := make([]float64, 300)
	for i := range rising {
		rising[i] = float64(i)
	}
	if p := Trend(rising); p < 0 || p > 1e-12 {
		t.Errorf("rising values have p = %g, want about 0", p)
	}
}
