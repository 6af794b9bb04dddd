package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
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
			for range *sims {
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
			if tooMany(missed, *sims, 0.06) {
				t.Errorf("noise %g, %d rounds: the interval does not contain the truth in %d of %d runs, want at most 6 %%", noise, n, missed, *sims)
			}
		}
	}
}
