package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// TestCoverageOfRandomRouting assigns calls at random. For every u, p must be at most u in a share of at most u
// of the runs. (With few calls, p has few values.)
func TestCoverageOfRandomRouting(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	us := []float64{0.001, 0.01, 0.05, 0.2, 0.5}
	rows := []string{"| trials × calls, backends | p ≤ 0.001 | p ≤ 0.01 | p ≤ 0.05 | p ≤ 0.2 | p ≤ 0.5 |", "|---|---|---|---|---|---|"}
	for _, c := range []struct{ trials, calls, backends int }{
		{1, 9, 3}, {1, 30, 3}, {1, 1000, 3}, {1, 10_000, 3}, {5, 100, 3}, {5, 1000, 3}, {1, 200, 2}, {1, 40, 10}, {1, 1000, 10}, {5, 2000, 10}, {2, 300, 100},
	} {
		random := rand.New(rand.NewPCG(17, uint64(c.calls)))
		under := make([]int, len(us))
		runs := *testkit.Sims / 4
		for range runs {
			trials := make([][]uint64, c.trials)
			for i := range trials {
				trials[i] = thrown(c.calls, c.backends, random)
			}
			p := chanceOf(trials).p()
			for i, u := range us {
				if p <= u {
					under[i]++
				}
			}
		}
		row := fmt.Sprintf("| %d × %d, %d |", c.trials, c.calls, c.backends)
		for i, u := range us {
			if testkit.TooMany(under[i], runs, u) {
				t.Errorf("%v: p ≤ %g in %d of %d runs, want at most that share", c, u, under[i], runs)
			}
			// If p has many possible values, it must not be too conservative either.
			if c.calls >= 1000 && testkit.TooMany(runs-under[i], runs, 1-0.7*u) {
				t.Errorf("%v: p ≤ %g in only %d of %d runs, want 0.7 of that share", c, u, under[i], runs)
			}
			row += fmt.Sprintf(" %.1f %% |", testkit.Percent(under[i], runs))
		}
		rows = append(rows, row)
	}
	testkit.Table(t, page, "uniform", rows)
}
