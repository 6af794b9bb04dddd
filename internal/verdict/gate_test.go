package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// TestPowerOfAGate simulates runs of five trials each, with 5 % of noise, in which nothing changed. How often a
// bound on the ratio holds shows which bounds such runs can confirm. The bound fails in at most one of 40 runs.
func TestPowerOfAGate(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{"| gate | passed | could not tell | failed |", "|---|--:|--:|--:|"}
	for _, limit := range []float64{1.05, 1.1, 1.15} {
		r := rand.New(rand.NewPCG(61, 61))
		seen := map[Outcome]int{}
		for range *testkit.Sims {
			var before, after []float64
			for range 5 {
				before, after = append(before, logNormal(0.05)(r)), append(after, logNormal(0.05)(r))
			}
			_, outcome, _ := Bound{Limit: limit}.OfRuns(before, after, Options{LowerIsBetter: true})
			seen[outcome]++
		}
		if testkit.TooMany(seen[Failed], *testkit.Sims, 0.025) {
			t.Errorf("ratio < %g failed in %d of %d runs without a change, want at most 2.5 %%", limit, seen[Failed], *testkit.Sims)
		}
		rows = append(rows, fmt.Sprintf("| `ratio < %g` | %.0f %% | %.0f %% | %.1f %% |", limit,
			testkit.Percent(seen[Held], *testkit.Sims), testkit.Percent(seen[Open], *testkit.Sims), testkit.Percent(seen[Failed], *testkit.Sims)))
	}
	testkit.Table(t, acrossPage, "gates", rows)
}
