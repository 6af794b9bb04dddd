package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func pairsOf(a, b []float64) []Pair {
	pairs := make([]Pair, len(a))
	for i := range a {
		pairs[i] = Pair{A: a[i], B: b[i]}
	}
	return pairs
}

func TestRanksDecideShares(t *testing.T) {
	never := math.Inf(1)
	low, high := []float64{1, 1.1, 1.2, 1.3, 1.4}, []float64{400, 410, 405, 402, 404}
	for name, c := range map[string]struct {
		a, b   []float64
		family int
		want   Decision
		cause  Cause
	}{
		"apart in 5 rounds, one of 5 verdicts": {high, low, 5, Worse, Cause{}},
		"the other way":                        {low, high, 5, Better, Cause{}},
		"one of 10 verdicts needs 6 rounds":    {high, low, 10, Undecided, Cause{Kind: CauseRounds, Have: 5, Needed: 6}},
		"one round":                            {high[:1], low[:1], 1, Undecided, Cause{Kind: CauseRounds, Have: 1, Needed: 4}},
		"failures in some trials alone":        {[]float64{1, 400, 1, 400, 1}, []float64{1, 1, 1, 1, 1}, 1, Undecided, Cause{Kind: CauseInterval, Have: 5, Needed: 15}},
		"never":                                {[]float64{never, never, never, never}, []float64{7, 8, 9, 7}, 1, Worse, Cause{}},
		"never in both":                        {[]float64{never, never, never, never}, []float64{never, never, never, never}, 1, Equivalent, Cause{}},
		"a loss in few of many trials":         {append(slices.Repeat([]float64{1}, 10), 900, 900), slices.Repeat([]float64{1}, 12), 1, Undecided, Cause{Kind: CauseInterval, Have: 12, Needed: 36}},
		"never in few of many trials":          {append(slices.Repeat([]float64{7}, 10), never, never), append(slices.Repeat([]float64{7}, 11), never), 1, Undecided, Cause{Kind: CauseInterval, Have: 12, Needed: 144}},
		"a loss as large in all trials":        {[]float64{100, 101, 100, 101, 100}, []float64{101, 100, 100, 100, 101}, 1, Equivalent, Cause{}},
		"no value":                             {[]float64{math.NaN(), 1, 1, 1}, []float64{1, 1, 1, 1}, 1, Undecided, Cause{Kind: CauseValue}},
	} {
		v := CompareRanks(pairsOf(c.a, c.b), Options{Family: c.family, LowerIsBetter: true})
		if v.Decision != c.want || v.Cause != c.cause || (v.Reason == "") != (c.want != Undecided) {
			t.Errorf("%s: %s, %q, %+v, ratio %g (%g); want %s, %+v", name, v.Decision, v.Reason, v.Cause, v.Ratio, v.CI, c.want, c.cause)
		}
		if v.Ratio > math.MaxFloat64 || v.CI[1] > math.MaxFloat64 || math.IsNaN(v.Ratio) {
			t.Errorf("%s: ratio %g (%g), want finite numbers", name, v.Ratio, v.CI)
		}
	}
}

func TestTheReasonOfUnusableRunsIsOfTheFirstRun(t *testing.T) {
	for range 20 {
		if v := CompareRunsByRank([]float64{math.NaN()}, []float64{0}, Options{}); !strings.HasPrefix(v.Reason, "trial 1 of 1 of A cannot be used") {
			t.Fatalf("the reason is %q, want that of run A", v.Reason)
		}
	}
}

// A few rounds in turns decide if their values are far apart and alike, and not if they only have the same order.
func TestRanksOfRoundsInTurnsAllowForNeighbours(t *testing.T) {
	none := slices.Repeat([]float64{1}, 8)
	for name, c := range map[string]struct {
		a, b []float64
		want Decision
	}{
		"many calls lost in all rounds": {[]float64{400, 410, 405, 402, 404, 398, 401, 407}, none, Worse},
		"the other way":                 {none, []float64{400, 410, 405, 402, 404, 398, 401, 407}, Better},
		"calls lost in a bunch":         {[]float64{1, 1, 400, 390, 410, 405, 395, 1}, none, Undecided},
		"equal":                         {none, none, Equivalent},
		"never in some":                 {append(slices.Repeat([]float64{7}, 6), math.Inf(1), math.Inf(1)), slices.Repeat([]float64{5}, 8), Undecided},
	} {
		o := Options{LowerIsBetter: true}
		alone := CompareRanks(pairsOf(c.a, c.b), o)
		o.Consecutive, o.Whole = true, true
		v := CompareRanks(pairsOf(c.a, c.b), o)
		if v.Decision != c.want || (v.Reason == "") != (c.want != Undecided) || v.CI[0] > alone.CI[0] || v.CI[1] < alone.CI[1] || v.Cause.Groups {
			t.Errorf("%s: %s (%q), interval %g; want %s, and an interval that contains that of ranks alone, %g", name, v.Decision, v.Reason, v.CI, c.want, alone.CI)
		}
		runs := CompareRunsByRank(c.b, c.a, o)
		if runs.Decision != c.want {
			t.Errorf("%s: of two runs %s, %q, want %s", name, runs.Decision, runs.Reason, c.want)
		}
	}
}

// The interval excludes 1 exactly where the test's p is at most alpha, if no values are equal.
func TestTheIntervalOfRanksInvertsTheTest(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 1))
	for range 300 {
		n := 4 + random.IntN(5)
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = math.Exp(random.NormFloat64()+1), math.Exp(random.NormFloat64())
		}
		v := CompareRanks(pairsOf(a, b), Options{})
		if v.CI == [2]float64{} {
			t.Fatalf("%d rounds have no interval", n)
		}
		if p, excludes := RankSum(a, b), v.CI[0] > 1 || v.CI[1] < 1; excludes != (p <= 0.05) {
			t.Errorf("p = %g, but the interval of %d rounds is %g", p, n, v.CI)
		}
	}
}

// A decision needs so many pairs of trials in the same order, and no more.
func TestRanksDecideByTheShareOfPairsInTheSameOrder(t *testing.T) {
	for _, c := range []struct{ rounds, family int }{{4, 1}, {5, 6}, {6, 10}, {8, 3}, {12, 10}, {12, 1}} {
		o := Options{Family: c.family, LowerIsBetter: true}
		n, share := c.rounds, RankShare(c.rounds, o)
		others := int(math.Round((1 - share) * float64(n*n))) // pairs in the other order
		for more, want := range []Decision{Worse, Undecided} {
			a, b, left := make([]float64, n), make([]float64, n), others+more
			for i := range a {
				above := min(left, n) // values of b over that of a
				a[i], b[i] = float64(10*(n-above)+15)+0.01*float64(i), float64(10*i+20)
				left -= above
			}
			if v := CompareRanks(pairsOf(a, b), o); v.Decision != want {
				t.Errorf("%d rounds, one of %d verdicts: %d of %d pairs in the other order are %s (p %.3g), want %s", n, c.family, others+more, n*n, v.Decision, RankSum(a, b), want)
			}
		}
	}
	if few, many := RankShare(6, Options{Family: 20}), RankShare(12, Options{Family: 20}); few != 1 || !(0.5 < many && many < 0.9) {
		t.Errorf("6 rounds need a share of %g and 12 rounds %g, want all and fewer", few, many)
	}
	if share := RankShare(5, Options{Family: 10}); share != 0 {
		t.Errorf("5 rounds, one of 10 verdicts: a share of %g, want none", share)
	}
}

// If one backend is killed, a trial loses many calls at once or none. Equal arms must not differ more often
// than allowed. A test that counts calls finds a difference in up to half of the runs.
func TestCoverageOfClusteredFailures(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	const calls, lost = 20_000, 412
	for _, share := range []float64{0.1, 1.0 / 3, 0.5} { // of trials that lose calls
		for _, rounds := range []int{4, 5, 6} {
			random := rand.New(rand.NewPCG(33, uint64(rounds)))
			draw := func() float64 {
				failed := 0.0
				if random.Float64() < share {
					failed = lost + 20*random.NormFloat64()
				}
				return (failed + 0.5) / calls
			}
			wrong := 0
			for range *testkit.Sims {
				var pairs []Pair
				for range rounds {
					pairs = append(pairs, Pair{A: draw(), B: draw()})
				}
				if d := CompareRanks(pairs, Options{LowerIsBetter: true}).Decision; d == Better || d == Worse {
					wrong++
				}
			}
			if testkit.TooMany(wrong, *testkit.Sims, 0.05) {
				t.Errorf("%d rounds, calls lost in %.0f %% of trials: equal arms differ in %d of %d runs, want at most 5 %%", rounds, 100*share, wrong, *testkit.Sims)
			}
		}
	}
}

// Rounds of arms in turns are neighbours. Here calls are lost in rounds that come in bunches: a correlation of 0.7. Ranks
// alone would take them as independent.
func TestCoverageOfClusteredFailuresInTurns(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	const calls = 20_000
	rows := []string{"| correlation | rounds | different by ranks alone | with neighbours | three times the losses found by ranks alone | with neighbours |", "|---|--:|--:|--:|--:|--:|"}
	for k, correlation := range []float64{0, 0.5, 0.7} {
		for _, rounds := range []int{8, 20, 40} {
			if *testkit.Sims < 1000 && (rounds != 20 || correlation == 0.5) {
				continue
			}
			random := rand.New(rand.NewPCG(34, uint64(100*k+rounds)))
			draw := func(factor float64) []float64 {
				values := autoregressive(correlation)(rounds, random)
				for i, x := range values {
					failed := 0.0
					if x > -0.5 { // in two thirds of the rounds
						failed = factor * 100 * math.Exp(0.5*x)
					}
					values[i] = (failed + 0.5) / calls
				}
				return values
			}
			alone, wrong, foundAlone, found := 0, 0, 0, 0
			runs := max(100, *testkit.Sims/4)
			for range runs {
				pairs := pairsOf(draw(1), draw(1))
				if d := CompareRanks(pairs, Options{LowerIsBetter: true}).Decision; d != Undecided && d != Equivalent {
					alone++
				}
				if d := CompareRanks(pairs, Options{LowerIsBetter: true, Consecutive: true, Whole: true}).Decision; d != Undecided && d != Equivalent {
					wrong++
				}
				pairs = pairsOf(draw(3), draw(1))
				if CompareRanks(pairs, Options{LowerIsBetter: true}).Decision == Worse {
					foundAlone++
				}
				if CompareRanks(pairs, Options{LowerIsBetter: true, Consecutive: true, Whole: true}).Decision == Worse {
					found++
				}
			}
			if testkit.TooMany(wrong, runs, 0.075) {
				t.Errorf("correlation %g, %d rounds: equal arms differ in %d of %d runs, want at most 7 %%", correlation, rounds, wrong, runs)
			}
			if correlation == 0.7 && rounds == 20 && alone < 2*wrong {
				t.Errorf("correlation %g, %d rounds: by ranks alone equal arms differ in %d of %d runs, and in %d with neighbours; want twice as many", correlation, rounds, alone, runs, wrong)
			}
			rows = append(rows, fmt.Sprintf("| %g | %d | %.1f %% | %.1f %% | %.0f %% | %.0f %% |", correlation, rounds, testkit.Percent(alone, runs), testkit.Percent(wrong, runs), testkit.Percent(foundAlone, runs), testkit.Percent(found, runs)))
		}
	}
	testkit.Table(t, page, "bunches", rows)
}

func TestTheIntervalOfAMedianHoldsIt(t *testing.T) {
	for n, want := range map[int]float64{0: 0, 5: 0, 6: 0.96875, 8: 0.9921875, 10: 0.978515625} {
		random := rand.New(rand.NewPCG(33, uint64(n)))
		held := 0
		for range *testkit.Sims {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64()
			}
			low, high, ok := MedianInterval(values, 0.95)
			if ok != (want > 0) {
				t.Fatalf("%d values: an interval is there: %t, want %t", n, ok, want > 0)
			}
			if ok && low <= math.Ln2 && math.Ln2 <= high {
				held++
			}
		}
		if testkit.TooMany(*testkit.Sims-held, *testkit.Sims, 1-want) && want > 0 {
			t.Errorf("%d values: the interval has the median in %d of %d samples, want %.1f %%", n, held, *testkit.Sims, 100*want)
		}
	}
	never := math.Inf(1)
	if low, high, ok := MedianInterval([]float64{3, never, 2, never, 4, never}, 0.95); low != 2 || high != never || !ok {
		t.Errorf("with three values that are never: %g to %g, %t; want 2 to +Inf", low, high, ok)
	}
}
