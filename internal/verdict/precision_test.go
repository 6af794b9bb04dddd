package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// TestThePromisedPowerHolds simulates comparisons with the true ratio that 50, 80 and 95 % of them should
// detect. In half of them late calls can have raised the values of an arm by 2 %, for which the interval allows.
func TestThePromisedPowerHolds(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	for _, rounds := range []int{4, 12} {
		for _, family := range []int{1, 12} {
			for i, power := range []float64{0.5, 0.9, 0.5, 0.9} {
				o := Options{Family: family, LowerIsBetter: true, Seed: 1}.withDefaults()
				if i >= 2 {
					o.Raised[0] = 0.02
				}
				// The deviation of a difference of two trials of 5 % each.
				p := Verdict{Rounds: rounds}.Precision(o)
				p.Error, p.Freedom = 0.05*math.Sqrt(2/float64(rounds)), float64(rounds-1)
				ratio := p.Ratio(power)
				r := rand.New(rand.NewPCG(77, uint64(rounds)))
				found := 0
				for range *testkit.Sims {
					pairs := simulate(rounds, logNormal(0.05), logNormal(0.05), r)
					for i := range pairs {
						pairs[i].A *= ratio
					}
					if Compare(pairs, o).Decision == Worse {
						found++
					}
				}
				// The bootstrap widens some intervals, which costs up to five of 100 runs.
				got, slack := float64(found)/float64(*testkit.Sims), 5*math.Sqrt(power*(1-power)/float64(*testkit.Sims))
				if got > power+slack+0.01 || got < power-slack-0.05 {
					t.Errorf("%d rounds, one of %d verdicts, raised by %g: a ratio of %.3f was detected in %.1f %% of runs, want %.0f %%", rounds, family, o.Raised[0], ratio, 100*got, 100*power)
				}
			}
		}
	}
}

// The forecast of a longer run is the power that a run of that length has.
func TestARunAsLongAsAdvisedTellsTheDifference(t *testing.T) {
	p := Precision{Error: 0.05 * math.Sqrt(2.0/5), Freedom: 4, Rounds: 5, Alpha: 0.05 / 12}
	n := p.RoundsFor(1.1, 0.8)
	if longer, shorter := p.After(float64(n)).Ratio(0.8), p.After(float64(n-1)).Ratio(0.8); longer > 1.1 || shorter < 1.1 {
		t.Errorf("after %d rounds a ratio of %.4f is detected, after one less %.4f; want 1.1 between them", n, longer, shorter)
	}
	low, high := p.Likely()
	if a, b := low.RoundsFor(1.1, 0.8), high.RoundsFor(1.1, 0.8); !(a < n && n < b) {
		t.Errorf("%d to %d rounds, want a range around %d", a, b, n)
	}
	if got := (Precision{Error: 3, Freedom: 3, Rounds: 4, Alpha: 0.001}).RoundsFor(1.05, 0.8); got != MaxRounds {
		t.Errorf("with extreme noise: %d rounds, want %d", got, MaxRounds)
	}
	if got := (Precision{Freedom: 3, Rounds: 4, Alpha: 0.01}).Ratio(0.8); math.Abs(got-1.03) > 1e-6 {
		t.Errorf("without noise: %.4f, want the margin", got)
	}
	if got := (Precision{Freedom: 3, Rounds: 4, Alpha: 0.01, Raised: 0.05}).Ratio(0.8); math.Abs(got-math.Exp(0.05)) > 1e-6 {
		t.Errorf("without noise, but late calls: %.4f, want what they can have changed", got)
	}
}
