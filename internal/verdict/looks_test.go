package verdict

import "testing"

// Whenever a run ends, at a look or between looks, its verdicts have used at most the whole error.
func TestTheSharesOfTheErrorOfARunSumToOneAtMost(t *testing.T) {
	for _, looks := range [][]int{nil, {4}, {4, 8}, {5, 10, 20, 40}} {
		for end := range append(looks, 0)[max(len(looks)-1, 0)] + 1 {
			sum := 0.0
			for _, look := range looks {
				if look < end {
					sum += ErrorShare(looks, look)
				}
			}
			if sum += ErrorShare(looks, end); sum > 1 {
				t.Errorf("looks %v: a run of %d rounds uses %g of the error", looks, end, sum)
			}
		}
	}
	for n, want := range map[int]float64{3: 1, 4: 0.5, 7: 0.5, 8: 0.25, 16: 0.25} {
		if got := ErrorShare([]int{4, 8, 16}, n); got != want {
			t.Errorf("after %d rounds: %g, want %g", n, got, want)
		}
	}
}
