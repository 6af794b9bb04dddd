package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// ratios are pairs whose b is 1.
func ratios(values ...float64) (pairs []Pair) {
	for _, x := range values {
		pairs = append(pairs, Pair{A: x, B: 1})
	}
	return pairs
}

func TestDoubtsAreDecisiveIfTheyCouldChangeTheDecision(t *testing.T) {
	for name, c := range map[string]struct {
		pairs    []Pair
		decision Decision // before the doubt
		about    string
		decisive bool
	}{
		"stable":                         {ratios(2, 2.01, 1.99, 2, 2.005, 1.995), Worse, "", false},
		"drifts across one":              {ratios(1.30, 1.25, 1.20, 1.15, 1.10, 1.06), Worse, "drift", true},
		"drifts far from one":            {ratios(3, 3.1, 3.2, 3.3, 3.4, 3.5), Worse, "drift", false},
		"drifts within the margin":       {ratios(1.000, 1.001, 1.002, 1.003, 1.004, 1.005), Equivalent, "", false},
		"one round that is far off":      {ratios(2, 2.01, 1.99, 2, 2.005, 9), Worse, "outlier", false},
		"one round that makes it unsure": {ratios(1.05, 1.051, 1.049, 1.05, 1.0505, 1.09), Worse, "outlier", false},
		"too few to doubt":               {ratios(1, 2, 3), Undecided, "", false},
	} {
		v := Compare(c.pairs, Options{LowerIsBetter: true})
		if v.Decision != c.decision {
			t.Errorf("%s: the decision is %s (%.3g–%.3g), want %s", name, v.Decision, v.CI[0], v.CI[1], c.decision)
		}
		doubts := Doubts(c.pairs, v, Options{LowerIsBetter: true})
		switch {
		case c.about == "" && len(doubts) > 0:
			t.Errorf("%s: the doubts are %+v, want none", name, doubts)
		case c.about != "" && (len(doubts) != 1 || !strings.HasPrefix(doubts[0].Text, c.about) || doubts[0].Decisive != c.decisive):
			t.Errorf("%s: the doubts are %+v, want one about %s, decisive: %t", name, doubts, c.about, c.decisive)
		}
	}
}

// TestADecisiveOutlierRemovesTheDecision has one round without which the arms are equal.
func TestADecisiveOutlierRemovesTheDecision(t *testing.T) {
	pairs := ratios(1.0305, 1.031, 1.0305, 1.031, 1.0305, 1.031, 1.031, 1.0305, 1.031, 1.09)
	v := Verdict{Decision: Equivalent}
	doubts := Doubts(pairs, v, Options{LowerIsBetter: true})
	if len(doubts) != 1 || !doubts[0].Decisive {
		t.Errorf("the doubts are %+v, want one that is decisive", doubts)
	}
}

// TestStableRunsRarelyHaveDoubts checks, with noise alone, that both guards together raise doubts in no larger
// share of comparisons than their levels allow.
func TestStableRunsRarelyHaveDoubts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	doubted, n := 0, 10**testkit.Sims
	for range n {
		pairs := simulate(6, logNormal(0.05), logNormal(0.05), r)
		if len(Doubts(pairs, Compare(pairs, Options{}), Options{})) > 0 {
			doubted++
		}
	}
	if testkit.TooMany(doubted, n, driftLevel+outlierLevel) {
		t.Errorf("%d of %d comparisons without a trend have doubts, want a share of at most %g", doubted, n, driftLevel+outlierLevel)
	}
}

// TestDriftIsDetected has an arm that becomes slower by 5 % a round, with noise of 3 %.
func TestDriftIsDetected(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 32))
	seen := 0
	for range *testkit.Sims {
		pairs := simulate(10, logNormal(0.03), logNormal(0.03), r)
		for i := range pairs {
			pairs[i].A *= math.Pow(1.05, float64(i))
		}
		for _, d := range Doubts(pairs, Compare(pairs, Options{}), Options{}) {
			if strings.HasPrefix(d.Text, "drift: the ratio rose") {
				seen++
			}
		}
	}
	if testkit.TooMany(*testkit.Sims-seen, *testkit.Sims, 0.1) {
		t.Errorf("the drift was detected in %d of %d runs, want 90 %%", seen, *testkit.Sims)
	}
}

func TestAPercentileNeedsTenCallsBeyondIt(t *testing.T) {
	for _, c := range []struct {
		calls uint64
		tail  float64
		few   bool
	}{{1000, 0.01, false}, {999, 0.01, true}, {10_000, 0.001, false}, {9_999, 0.001, true}, {20, 0.5, false}, {0, 0.5, true}} {
		if got := TooFew(c.calls, c.tail); got != c.few {
			t.Errorf("TooFew(%d, %g) = %t, want %t", c.calls, c.tail, got, c.few)
		}
	}
}

// TestManyLooksKeepTheErrorRate runs rounds until the verdict is decided, or to the last look. At most 5 % of
// runs may find a difference between arms that do not differ.
func TestManyLooksKeepTheErrorRate(t *testing.T) {
	for _, n := range noises {
		for _, last := range []int{8, 13, 30} { // a time limit ends a run of 30 rounds at most after 13
			looks := Looks(MinRounds, last)
			ends := looks
			if last == 13 {
				looks = Looks(MinRounds, 30)
				ends = []int{4, 8, 13}
			}
			r := rand.New(rand.NewPCG(33, uint64(last)))
			wrong := 0
			for range *testkit.Sims {
				pairs := simulate(last, n.draw, n.draw, r)
				for _, rounds := range ends {
					v := Compare(pairs[:rounds], Options{Share: ErrorShare(looks, rounds), Seed: 1})
					if v.Decision == Better || v.Decision == Worse {
						wrong++
					}
					if v.Decision != Undecided {
						break
					}
				}
			}
			if testkit.TooMany(wrong, *testkit.Sims, 0.05) {
				t.Errorf("%s, up to %d rounds, %d looks: a difference in %d of %d runs without one, want at most 5 %%", n.name, last, len(looks), wrong, *testkit.Sims)
			}
		}
	}
}
