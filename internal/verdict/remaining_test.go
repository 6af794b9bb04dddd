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

func TestRemainingGap(t *testing.T) {
	even := func(p, c, b float64) (all []Triple) {
		for i := range 5 {
			more := float64(i-2) / 10
			all = append(all, Triple{p + more, c - more, b})
		}
		return all
	}
	for name, c := range map[string]struct {
		rounds []Triple
		share  float64
		reason string
	}{
		"a fifth":         {even(1000, 600, 500), 0.2, ""},
		"nothing":         {even(1000, 500, 500), 0, ""},
		"all":             {even(1000, 1000, 500), 1, ""},
		"faster, a half":  {even(300, 400, 500), 0.5, ""},
		"overcorrected":   {even(1000, 400, 500), -0.2, ""},
		"no gap":          {even(500, 600, 500), 0, "the gap itself is not established"},
		"three rounds":    {even(1000, 600, 500)[:3], 0.2, "3 rounds"},
		"a trial missing": {append(even(1000, 600, 500), Triple{math.NaN(), 1, 1}), 0, "no measurement"},
		"nothing at all":  {nil, 0, "no rounds"},
	} {
		r := RemainingGap(c.rounds, Options{})
		if c.reason != "" {
			if !strings.Contains(r.Reason, c.reason) || r.CI != [2]float64{} {
				t.Errorf("%s: the remaining gap is %+v, want the reason %q and no interval", name, r, c.reason)
			}
			continue
		}
		if r.Reason != "" || math.Abs(r.Share-c.share) > 0.01 || r.CI[0] > c.share || r.CI[1] < c.share || r.CI[1]-r.CI[0] > 0.01 {
			t.Errorf("%s: the remaining gap is %+v, want %g within an interval of at most 0.01", name, r, c.share)
		}
	}
}

// TestCoverageOfRemainingGap simulates a drift of its own for every round, and noise for every trial.
func TestCoverageOfRemainingGap(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	for _, noise := range []float64{0.01, 0.05} {
		for _, n := range []int{4, 5, 10} {
			random := rand.New(rand.NewPCG(41, uint64(n)))
			missed := 0
			for range *testkit.Sims {
				all := make([]Triple, n)
				for i := range all {
					drift := math.Exp(0.1 * random.NormFloat64())
					draw := func(value float64) float64 { return drift * value * math.Exp(noise*random.NormFloat64()) }
					all[i] = Triple{draw(1000), draw(600), draw(500)}
				}
				if r := RemainingGap(all, Options{}); r.Reason == "" && (r.CI[0] > 0.2 || r.CI[1] < 0.2) {
					missed++
				}
			}
			if testkit.TooMany(missed, *testkit.Sims, 0.06) {
				t.Errorf("noise %g, %d rounds: the interval does not contain the truth in %d of %d runs, want at most 6 %%", noise, n, missed, *testkit.Sims)
			}
		}
	}
}

// TestCoverageOfRemainingGapOfCycles: what neighbouring cycles share, in all or half of the noise of an arm,
// must not make the interval too narrow. One of four accounts misses the truth in 5 % of runs at most.
func TestCoverageOfRemainingGapOfCycles(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	sizes := []int{12, 20, 40, 100}
	rows := []string{"| noise of an arm | " + joined(sizes, "%d cycles") + " |", "|---|" + strings.Repeat("---|", len(sizes))}
	if *testkit.Sims < 1000 {
		sizes = []int{12}
	}
	for k, noise := range []struct {
		name string
		draw cycleNoise
	}{
		{"independent", independent}, {"autocorrelation 0.5", autoregressive(0.5)}, {"autocorrelation 0.7", autoregressive(0.7)},
		{"half of it autocorrelated, 0.7", all(independent, autoregressive(0.7))},
	} {
		row := "| " + noise.name + " |"
		for _, n := range sizes {
			r := rand.New(rand.NewPCG(42, uint64(10*n+k)))
			missed, missedOf4 := 0, 0
			runs := max(100, *testkit.Sims/5)
			for range runs {
				arms, drift := [3][]float64{noise.draw(n, r), noise.draw(n, r), noise.draw(n, r)}, independent(n, r)
				triples := make([]Triple, n)
				for i := range triples {
					of := func(arm int, value float64) float64 { return value * math.Exp(0.03*arms[arm][i]+0.1*drift[i]) }
					triples[i] = Triple{of(0, 1000), of(1, 600), of(2, 500)}
				}
				// The interval holds the truth where the rest of the gap without it may be 0.
				rests := make([]float64, n)
				for i, x := range triples {
					rests[i] = x.Controlled - x.Baseline - 0.2*(x.Published-x.Baseline)
				}
				misses := func(family float64) bool {
					return studentMisses(rests, 0.05/family) && dependent(rests, nil).beyond(mean(rests)) < 0.05/family
				}
				if misses(1) {
					missed++
				}
				if misses(4) {
					missedOf4++
				}
			}
			if testkit.TooMany(missed, runs, 0.075) || testkit.TooMany(missedOf4, runs, 0.0175) {
				t.Errorf("%s, %d cycles: the interval misses the truth in %d of %d runs, and one of 4 accounts in %d", noise.name, n, missed, runs, missedOf4)
			}
			row += fmt.Sprintf(" %.1f, %.1f |", 100-testkit.Percent(missed, runs), 100-testkit.Percent(missedOf4, runs))
		}
		rows = append(rows, row)
	}
	testkit.Table(t, page, "remaining", rows)
}

func TestRemainingGapOfCycles(t *testing.T) {
	var triples []Triple
	for i := range 20 {
		more := float64(i%5-2) / 10
		triples = append(triples, Triple{1000 + more, 600 - more, 500})
	}
	cycles := RemainingGap(triples, Options{Consecutive: true})
	rounds := RemainingGap(triples, Options{})
	if cycles.Reason != "" || cycles.Share != rounds.Share || !(cycles.CI[0] <= rounds.CI[0] && rounds.CI[1] <= cycles.CI[1] && cycles.CI[1]-cycles.CI[0] < 0.01) {
		t.Errorf("cycles: %+v, rounds: %+v; want the same share, and an interval that is a little wider", cycles, rounds)
	}
	wide := slices.Clone(triples)
	for i := range wide {
		wide[i].Controlled += 30 * math.Sin(float64(i)/3)
	}
	got := RemainingGap(wide, Options{Consecutive: true})
	for _, end := range got.CI {
		var rests []float64
		for _, x := range wide {
			rests = append(rests, x.Controlled-x.Baseline-end*(x.Published-x.Baseline))
		}
		if p := dependent(rests, nil).beyond(mean(rests)); math.Abs(p-0.05) > 0.001 {
			t.Errorf("at an end of the interval %v the rest may be 0 with p = %g, want 0.05", got.CI, p)
		}
	}
	same := slices.Repeat([]Triple{{1000, 600, 500}}, 6)
	if got := RemainingGap(same, Options{Consecutive: true}); got.Reason != "" || got.CI != [2]float64{0.2, 0.2} {
		t.Errorf("equal cycles have %+v", got)
	}
	for i := range triples { // the gap rises and falls slowly around 0
		triples[i].Published = 500 + 100*math.Sin(float64(i)/4)
	}
	if got := RemainingGap(triples, Options{Consecutive: true}); got.Reason != "the gap itself is not established" {
		t.Errorf("a gap that wanders around nothing has %+v", got)
	}
	if got := RemainingGap(triples[:3], Options{Consecutive: true}); got.Reason != "3 groups of cycles; at least 4 are needed" {
		t.Errorf("three groups have the reason %q", got.Reason)
	}
}
