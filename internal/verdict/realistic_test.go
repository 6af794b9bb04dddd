package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rpclab/internal/testkit"
)

// Realistic trials: consecutive calls are correlated, some calls take very long, every trial deviates a little
// as a whole, and the machine becomes slower during the run.
const (
	callsOfATrial = 10_000
	alike         = 0.9  // correlation of a call with the one before
	callNoise     = 0.3  // deviation of the logarithm
	longTail      = 0.02 // share of calls that a Pareto tail makes longer
	// trialNoise is the noise of the median latency in docs/findings/aa.md.
	trialNoise = 0.03
	slowing    = 0.02 // a round, in both arms
)

// percentilesNamed are the percentiles that have verdicts.
var percentilesNamed = []float64{0.5, 0.9, 0.99, 0.999}

// realistic simulates a trial of an arm and returns its percentiles. It stores the calls in calls.
func realistic(r *rand.Rand, level float64, calls []float64) (at [4]float64) {
	state := r.NormFloat64()
	innovation := math.Sqrt(1 - alike*alike)
	for i := range calls {
		state = alike*state + innovation*r.NormFloat64()
		calls[i] = level * math.Exp(callNoise*state)
		if r.Float64() < longTail {
			calls[i] *= math.Pow(1-r.Float64(), -0.5)
		}
	}
	slices.Sort(calls)
	for i, q := range percentilesNamed {
		at[i] = calls[int(math.Ceil(q*float64(len(calls))))-1]
	}
	return at
}

// comparison simulates a run of two arms and returns its pairs by percentile. a takes ratio times as long as b.
func comparison(r *rand.Rand, rounds int, ratio float64, calls []float64) (pairs [4][]Pair) {
	for round := range rounds {
		machine := 100 * math.Pow(1+slowing, float64(round))
		a := realistic(r, machine*math.Exp(trialNoise*r.NormFloat64())*ratio, calls)
		b := realistic(r, machine*math.Exp(trialNoise*r.NormFloat64()), calls)
		for i := range pairs {
			pairs[i] = append(pairs[i], Pair{A: a[i], B: b[i]})
		}
	}
	return pairs
}

// TestCoverageOfRealisticRuns simulates arms that are the same, and arms that are 10 % apart. At every
// percentile the 95 % interval contains the truth in 93 to 97 % of runs. At most 5 % of runs find a difference
// between equal arms. At the median, 80 % detect the difference in 6 rounds.
func TestCoverageOfRealisticRuns(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{"| rounds | percentile | interval holds the truth | the same called different | 10 % found |", "|---|---|--:|--:|--:|"}
	n := max(*testkit.Sims/10, 100)
	calls := make([]float64, callsOfATrial)
	for _, rounds := range []int{5, 6} {
		r := rand.New(rand.NewPCG(51, uint64(rounds)))
		var missed, wrong, found [4]int
		for range n {
			same, apart := comparison(r, rounds, 1, calls), comparison(r, rounds, 1.1, calls)
			for i := range percentilesNamed {
				v := Compare(same[i], Options{LowerIsBetter: true})
				if v.CI[0] > 1 || v.CI[1] < 1 {
					missed[i]++
				}
				if v.Decision == Better || v.Decision == Worse {
					wrong[i]++
				}
				if Compare(apart[i], Options{LowerIsBetter: true, Family: 2}).Decision == Worse {
					found[i]++
				}
			}
		}
		for i, q := range percentilesNamed {
			if testkit.TooMany(missed[i], n, 0.07) || testkit.TooMany(n-missed[i], n, 0.97) {
				t.Errorf("%d rounds, %g: the interval does not contain the truth in %d of %d runs, want 3 to 7 %%", rounds, q, missed[i], n)
			}
			if testkit.TooMany(wrong[i], n, 0.05) {
				t.Errorf("%d rounds, %g: equal arms differ in %d of %d runs, want at most 5 %%", rounds, q, wrong[i], n)
			}
			if i == 0 && rounds == 6 && testkit.TooMany(n-found[i], n, 0.2) {
				t.Errorf("%d rounds, %g: a difference of 10 %% was found in %d of %d runs, want 80 %%", rounds, q, found[i], n)
			}
			rows = append(rows, fmt.Sprintf("| %d | %g | %.1f %% | %.1f %% | %.0f %% |", rounds, 100*q,
				100-testkit.Percent(missed[i], n), testkit.Percent(wrong[i], n), testkit.Percent(found[i], n)))
		}
	}
	testkit.Table(t, page, "realistic", rows)
}
