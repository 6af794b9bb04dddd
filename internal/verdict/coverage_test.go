package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// TestCoverageOfEqualArms compares arms that do not differ. The interval must contain 1 as often as its level
// says, and at most 5 % of runs may decide any of their verdicts.
func TestCoverageOfEqualArms(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| noise of a trial | rounds | verdicts in a run | interval holds the truth, promised | seen | runs with a wrong call, allowed | seen |",
		"|---|---|---|---|---|---|---|",
	}
	runs := *testkit.Sims
	if runs == testkit.PageSims { // of 2,000 runs, the worst of 16 figures is 1 % over the truth by chance
		runs *= 5
	}
	for _, n := range noises {
		for _, rounds := range []int{4, 5} {
			for _, family := range []int{1, 12} {
				missed, wrong := overRuns(n, rounds, family, runs)
				all, level := runs*family, 1-0.05/float64(family)
				if testkit.TooMany(missed, all, 1-level) {
					t.Errorf("%s, %d rounds, %d verdicts: %d of %d intervals do not contain 1, want a share of at most %.4f", n.name, rounds, family, missed, all, 1-level)
				}
				if testkit.TooMany(wrong, runs, 0.05) {
					t.Errorf("%s, %d rounds, %d verdicts: a wrong verdict in %d of %d runs, want at most 5 %%", n.name, rounds, family, wrong, runs)
				}
				rows = append(rows, fmt.Sprintf("| %s | %d | %d | %.2f %% | %.2f %% | 5 %% | %.1f %% |",
					n.name, rounds, family, 100*level, 100-testkit.Percent(missed, all), testkit.Percent(wrong, runs)))
			}
		}
	}
	testkit.Table(t, page, "same", rows)
}

// overRuns counts the intervals that miss 1, and the runs with a wrong decision.
func overRuns(n noise, rounds, family, runs int) (missed, wrong int) {
	random := rand.New(rand.NewPCG(uint64(len(n.name)), uint64(100*rounds+family)))
	for range runs {
		called := false
		for range family {
			v := Compare(simulate(rounds, n.draw, n.draw, random), Options{Family: family, LowerIsBetter: true})
			if v.CI[0] > 1 || v.CI[1] < 1 {
				missed++
			}
			called = called || v.Decision == Better || v.Decision == Worse
		}
		if called {
			wrong++
		}
	}
	return missed, wrong
}

// TestCoverageOfEquivalence simulates a true ratio at the margin. "Equivalent" is then wrong, and only one end
// of the interval can be wrong.
func TestCoverageOfEquivalence(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	for _, share := range []float64{0.001, 0.005, 0.01, 0.02} {
		random := rand.New(rand.NewPCG(12, 12))
		equivalent := 0
		for range *testkit.Sims {
			pairs := simulate(5, logNormal(share), logNormal(share), random)
			for i := range pairs {
				pairs[i].A *= 1.03001
			}
			if Compare(pairs, Options{}).Decision == Equivalent {
				equivalent++
			}
		}
		if testkit.TooMany(equivalent, *testkit.Sims, 0.025) {
			t.Errorf("noise %g: equivalent in %d of %d runs, want at most 2.5 %%", share, equivalent, *testkit.Sims)
		}
	}
}

// TestCoverageLimits shows where the interval misses its level: skew that only one arm has does not cancel out
// in the pairs. It fails if coverage is lower than documented.
func TestCoverageLimits(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| tail of A | rounds | promised | seen | A wrongly better | A wrongly worse | promised of 12 | seen |",
		"|---|---|---|---|---|---|---|---|",
	}
	for _, tail := range []float64{0.05, 0.20, 1} {
		long := func(r *rand.Rand) float64 { return 100 * (1 + tail*r.ExpFloat64()) }
		even := logNormal(0.01)
		truth := meanLog(long) - meanLog(even)
		for _, rounds := range []int{4, 5, 10} {
			random := rand.New(rand.NewPCG(13, uint64(rounds)))
			held, better, worse, heldOf12 := 0, 0, 0, 0
			for range *testkit.Sims {
				pairs := simulate(rounds, long, even, random)
				for i := range pairs {
					pairs[i].A /= math.Exp(truth) // now the true ratio is 1
				}
				v := Compare(pairs, Options{LowerIsBetter: true})
				switch {
				case v.CI[0] <= 1 && 1 <= v.CI[1]:
					held++
				case v.Decision == Better:
					better++
				case v.Decision == Worse:
					worse++
				}
				if v := Compare(pairs, Options{Family: 12}); v.CI[0] <= 1 && 1 <= v.CI[1] {
					heldOf12++
				}
			}
			if testkit.TooMany(*testkit.Sims-held, *testkit.Sims, 0.11) || testkit.TooMany(*testkit.Sims-heldOf12, *testkit.Sims, 0.03) {
				t.Errorf("tail %g, %d rounds: the interval contains the truth in %d runs, and as one of 12 in %d, of %d; want 89 and 97 %%, as the page says", tail, rounds, held, heldOf12, *testkit.Sims)
			}
			rows = append(rows, fmt.Sprintf("| %.0f %% | %d | 95 %% | %.1f %% | %.1f %% | %.1f %% | 99.6 %% | %.1f %% |",
				100*tail, rounds, testkit.Percent(held, *testkit.Sims), testkit.Percent(better, *testkit.Sims), testkit.Percent(worse, *testkit.Sims), testkit.Percent(heldOf12, *testkit.Sims)))
		}
	}
	testkit.Table(t, page, "limits", rows)
}

func meanLog(draw func(*rand.Rand) float64) float64 {
	random := rand.New(rand.NewPCG(14, 14))
	var total float64
	const n = 400_000
	for range n {
		total += math.Log(draw(random))
	}
	return total / n
}
