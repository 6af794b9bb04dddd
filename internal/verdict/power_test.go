package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rpclab/internal/testkit"
)

var families = []int{1, 12, 48}

// TestPower computes the smallest true ratio that 80 % of runs detect.
func TestPower(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{"| noise of a trial | rounds | 1 verdict | 12 verdicts | 48 verdicts |", "|---|---|---|---|---|"}
	for _, share := range []float64{0.01, 0.03, 0.10} {
		for _, rounds := range []int{4, 5, 10} {
			row := fmt.Sprintf("| %.0f %% | %d |", 100*share, rounds)
			for _, family := range families {
				needed := neededRatios(share, rounds, family)
				row += fmt.Sprintf(" %.2f |", needed[len(needed)*80/100])
			}
			rows = append(rows, row)
		}
	}
	testkit.Table(t, page, "power", rows)
}

// TestPowerMatchesCompare checks the shortcut of neededRatios: with the ratio that it returns, 80 % of runs
// decide worse.
func TestPowerMatchesCompare(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	for _, rounds := range []int{4, 5, 10} {
		needed := neededRatios(0.03, rounds, 12)
		ratio := needed[len(needed)*80/100]
		random := rand.New(rand.NewPCG(16, 16)) // not the random numbers from which needed was computed
		found := 0
		for range *testkit.Sims {
			pairs := simulate(rounds, logNormal(0.03), logNormal(0.03), random)
			for i := range pairs {
				pairs[i].A *= ratio
			}
			if Compare(pairs, Options{Family: 12, LowerIsBetter: true}).Decision == Worse {
				found++
			}
		}
		got, slack := float64(found)/float64(*testkit.Sims), 5*math.Sqrt(0.8*0.2/float64(*testkit.Sims))
		if math.Abs(got-0.8) > slack {
			t.Errorf("%d rounds: a ratio of %.3f was found in %.3f of runs, want 0.8 ± %.3f", rounds, ratio, got, slack)
		}
	}
}

// neededRatios returns, for each of many A/A runs in ascending order, the ratio by which A would have to be
// multiplied to be worse. Multiplying A multiplies ratio and interval alike, so one run serves all ratios.
func neededRatios(share float64, rounds, family int) []float64 {
	random := rand.New(rand.NewPCG(15, uint64(rounds)))
	needed := make([]float64, *testkit.Sims)
	for i := range needed {
		v := Compare(simulate(rounds, logNormal(share), logNormal(share), random), Options{Family: family, LowerIsBetter: true})
		needed[i] = max(1/v.CI[0], 1.03/v.Ratio)
	}
	slices.Sort(needed)
	return needed
}
