package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"rpclab/internal/testkit"
)

func TestCompareRunsDecides(t *testing.T) {
	lower := Options{LowerIsBetter: true}
	hundred := []float64{100, 101, 99, 100.5}
	for name, c := range map[string]struct {
		a, b   []float64
		o      Options
		want   Decision
		reason string
	}{
		"slower":            {hundred, []float64{120, 121, 119, 122}, lower, Worse, ""},
		"faster":            {[]float64{120, 121, 119, 122}, hundred, lower, Better, ""},
		"a higher rate":     {hundred, []float64{120, 121, 119, 122}, Options{}, Better, ""},
		"the same":          {hundred, hundred, lower, Equivalent, ""},
		"identical values":  {[]float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, lower, Equivalent, ""},
		"of unequal length": {[]float64{100, 101, 99, 100.5, 100, 100, 99.5}, []float64{120, 121, 119, 122}, lower, Worse, ""},
		"noise":             {[]float64{90, 110, 120, 95}, []float64{100, 112, 94, 101}, lower, Undecided, "the difference may be zero: about 408 rounds in all would decide, if the noise stays"},
		"three trials": {hundred, hundred[:3], lower, Undecided,
			"3 rounds in one of the runs; at least 4 are needed in both"},
		"none": {hundred, nil, lower, Undecided, "no rounds in one of the runs; at least 4 are needed in both"},
		"a trial that failed": {hundred, []float64{100, math.NaN(), 100, 100, 100}, lower, Undecided,
			"trial 2 of 5 of B cannot be used: its value is NaN, and a ratio needs positive, finite values"},
		"zero": {[]float64{0, 1, 1, 1}, hundred, lower, Undecided,
			"trial 1 of 4 of A cannot be used: its value is 0, and a ratio needs positive, finite values"},
	} {
		t.Run(name, func(t *testing.T) {
			v := CompareRuns(c.a, c.b, c.o)
			if diff := cmp.Diff([]any{c.want, c.reason, min(len(c.a), len(c.b))}, []any{v.Decision, v.Reason, v.Rounds}); diff != "" {
				t.Errorf("ratio %v, interval %v (-want +got):\n%s", v.Ratio, v.CI, diff)
			}
		})
	}
}

// Means 20.61 and 22.135, variances 9.0010 and 0.9782: the rest is by Welch's formulas.
func TestCompareRunsUsesWelchsInterval(t *testing.T) {
	a := []float64{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8}
	b := []float64{21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8}
	u := unpaired{a, b}
	got := []float64{u.difference(), u.spread(len(a), len(b)), u.freedom(len(a), len(b))}
	if diff := cmp.Diff([]float64{1.525, 0.974171, 9.904741}, got, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Errorf("difference, its standard error, degrees of freedom (-want +got):\n%s", diff)
	}
}

func TestBootstrapOfTwoRunsResamplesBoth(t *testing.T) {
	// Means of two draws: 0, ½, 1 of x and 0, 2, 4 of y, each with ¼, ½, ¼.
	x, y := bootstrapMeans([]float64{0, 1}, 1), bootstrapMeans([]float64{0, 4}, 1)
	for _, c := range []struct{ p, want float64 }{{0.01, -4}, {1. / 16, -4}, {0.07, -3.5}, {0.2, -3}, {0.99, 1}} {
		if got := lowerTail(x, y, c.p); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("with probability %g x - y is at most %g, want %g", c.p, got, c.want)
		}
	}
}

func TestCompareRunsIsConsistentForAnyValues(t *testing.T) {
	run := rapid.SliceOfN(rapid.Float64Range(1e-300, 1e300), 2, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := run.Draw(t, "a"), run.Draw(t, "b")
		o := Options{Family: rapid.IntRange(0, 100).Draw(t, "family"), LowerIsBetter: rapid.Bool().Draw(t, "lower")}
		v := CompareRuns(a, b, o)
		if !(0 < v.CI[0] && v.CI[0] <= v.Ratio && v.Ratio <= v.CI[1] && v.CI[1] <= math.MaxFloat64) {
			t.Fatalf("ratio %v is not within a finite, positive interval %v", v.Ratio, v.CI)
		}
		if v != CompareRuns(a, b, o) {
			t.Fatal("the same values have two different verdicts")
		}
		if undecided := v.Decision == Undecided; undecided != (v.Reason != "") || undecided != (v.Cause.Kind != "") {
			t.Fatalf("the decision %s has the reason %q and the cause %+v, want both if undecided and else none", v.Decision, v.Reason, v.Cause)
		}
		mirror := map[Decision]Decision{Better: Worse, Worse: Better, Equivalent: Equivalent, Undecided: Undecided}
		if back := CompareRuns(b, a, o); back.Decision != mirror[v.Decision] {
			t.Fatalf("b against a is %s and a against b is %s, want %s", v.Decision, back.Decision, mirror[v.Decision])
		}
	})
}

func TestABoundIsDecidedByTheWholeInterval(t *testing.T) {
	hundred := []float64{100, 101, 99, 100.5}
	slower := []float64{120, 121, 119, 122}
	under := func(limit float64) Bound { return Bound{Limit: limit} }
	for name, c := range map[string]struct {
		b             Bound
		before, after []float64
		want          Outcome
		reason        string
	}{
		"a regression":               {under(1.05), hundred, slower, Failed, ""},
		"none":                       {under(1.05), hundred, hundred, Held, ""},
		"slower, but within bounds":  {under(1.3), hundred, slower, Held, ""},
		"right at the bound":         {under(1.2), hundred, slower, Open, "the ratio may be on either side of 1.2: about 88 rounds in each of two new runs would settle it, if the noise stays"},
		"too close":                  {under(1.00001), hundred, hundred, Open, "the ratio may be on either side of 1.00001, and is too close to it to be settled by more rounds"},
		"a rate that has to be kept": {Bound{Over: true, Limit: 0.95}, slower, hundred, Failed, ""},
		"a rate that is kept":        {Bound{Over: true, Limit: 0.95}, hundred, hundred, Held, ""},
		"less than the limit":        {under(1), []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, Failed, ""},
		"the limit itself":           {Bound{Limit: 1, Equal: true}, []float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, Held, ""},
		"a regression of 3 trials":   {under(1.05), hundred, slower[:3], Open, "3 rounds in one of the runs; at least 4 are needed in both"},
	} {
		t.Run(name, func(t *testing.T) {
			v, outcome, reason := c.b.OfRuns(c.before, c.after, Options{LowerIsBetter: true})
			if outcome != c.want || reason != c.reason {
				t.Errorf("the outcome is %s, %q; want %s, %q; ratio %v, interval %v", outcome, reason, c.want, c.reason, v.Ratio, v.CI)
			}
		})
	}
}

// TestCoverageOfRuns simulates two separate runs. They have no pairs in which drift cancels out, and one run
// may have more trials and more noise.
func TestCoverageOfRuns(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	tail := noises[2].draw
	long := func(r *rand.Rand) float64 { return 100 * (1 + r.ExpFloat64()) }
	rows := []string{
		"| noise of a trial of A | of B | trials of A, B | promised | seen | A wrongly worse | B wrongly worse | promised of 12 | seen |",
		"|---|---|---|---|---|---|---|---|---|",
	}
	for _, c := range []struct {
		a, b    string
		of, and func(*rand.Rand) float64
		least   float64 // share of intervals that contain the truth, as on the page
	}{
		{"log-normal 5 %", "log-normal 5 %", logNormal(0.05), logNormal(0.05), 0.935},
		{"log-normal 1 %", "log-normal 30 %", logNormal(0.01), logNormal(0.30), 0.935},
		{noises[2].name, noises[2].name, tail, tail, 0.93},
		{noises[3].name, noises[3].name, noises[3].draw, noises[3].draw, 0.935},
		{"log-normal 1 %", "exponential tail of 20 %", logNormal(0.01), tail, 0.88},
		{"log-normal 1 %", "exponential tail of 100 %", logNormal(0.01), long, 0.88},
	} {
		truth := meanLog(c.and) - meanLog(c.of)
		for _, n := range [][2]int{{4, 4}, {4, 10}, {10, 10}} {
			random := rand.New(rand.NewPCG(18, uint64(100*n[0]+n[1])))
			held, heldOf12, over, under := 0, 0, 0, 0
			runs := *testkit.Sims
			if max(n[0], n[1]) > exactRounds {
				runs /= 5 // each run is resampled 20,000 times
			}
			for range runs {
				a, b := make([]float64, n[0]), make([]float64, n[1])
				for i := range a {
					a[i] = c.of(random) * math.Exp(truth) // now the true ratio is 1
				}
				for i := range b {
					b[i] = c.and(random)
				}
				switch v := CompareRuns(a, b, Options{LowerIsBetter: true}); {
				case v.CI[0] > 1:
					over++
				case v.CI[1] < 1:
					under++
				default:
					held++
				}
				if v := CompareRuns(a, b, Options{Family: 12}); v.CI[0] <= 1 && 1 <= v.CI[1] {
					heldOf12++
				}
			}
			if testkit.TooMany(runs-held, runs, 1-c.least) || testkit.TooMany(runs-heldOf12, runs, 0.035) {
				t.Errorf("%s against %s, %v trials: the interval contains the truth in %d runs, and as one of 12 in %d, of %d; want %g and 0.965 of them", c.a, c.b, n, held, heldOf12, runs, c.least)
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %d, %d | 95 %% | %.1f %% | %.1f %% | %.1f %% | 99.6 %% | %.1f %% |",
				c.a, c.b, n[0], n[1], testkit.Percent(held, runs), testkit.Percent(under, runs), testkit.Percent(over, runs), testkit.Percent(heldOf12, runs)))
		}
	}
	testkit.Table(t, acrossPage, "runs", rows)
}

// TestCoverageOfRunsOfCycles simulates two runs whose arms took turns. Their values are not paired, so they
// contain every slow change during a run.
func TestCoverageOfRunsOfCycles(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	sizes := [][2]int{{12, 12}, {12, 40}, {40, 40}, {100, 100}}
	rows := []string{"| noise | 12 cycles in both | 12 and 40 | 40 in both | 100 in both |", "|---|---|---|---|---|"}
	if *testkit.Sims < 1000 {
		sizes = sizes[:1]
	}
	for k, noise := range []struct {
		name string
		a, b cycleNoise
	}{
		{"independent", independent, independent},
		{"autocorrelation 0.5", autoregressive(0.5), autoregressive(0.5)},
		{"autocorrelation 0.7", autoregressive(0.7), autoregressive(0.7)},
		{"autocorrelation 0.7 in one run", independent, autoregressive(0.7)},
		{"autocorrelation 0.7 in one run, 3 × as noisy", independent, times(3, autoregressive(0.7))},
		{"half of it autocorrelated, 0.7", all(independent, autoregressive(0.7)), all(independent, autoregressive(0.7))},
		{"autocorrelation 0.5, bursts and tails", all(autoregressive(0.5), bursts, paretoTails), all(autoregressive(0.5), bursts, paretoTails)},
		{"autocorrelation 0.9", autoregressive(0.9), autoregressive(0.9)},
	} {
		row := "| " + noise.name + " |"
		for _, n := range sizes {
			r := rand.New(rand.NewPCG(43, uint64(1000*k+n[1])))
			missed, missedOf12 := 0, 0
			runs := max(100, *testkit.Sims/5)
			for range runs {
				u := unpaired{noise.a(n[0], r), noise.b(n[1], r)}
				if math.Abs(u.difference()) < 1.9*u.spread(n[0], n[1]) {
					continue // within Student's interval, too
				}
				switch p := u.dependent().beyond(u.difference()); {
				case p < 0.05/12:
					missedOf12++
					fallthrough
				case p < 0.05:
					missed++
				}
			}
			if noise.name != "autocorrelation 0.9" && (testkit.TooMany(missed, runs, 0.075) || testkit.TooMany(missedOf12, runs, 0.0075)) {
				t.Errorf("%s, %d cycles: the interval misses the truth in %d of %d runs, and as one of 12 in %d", noise.name, n, missed, runs, missedOf12)
			}
			row += fmt.Sprintf(" %.1f, %.1f |", 100-testkit.Percent(missed, runs), 100-testkit.Percent(missedOf12, runs))
		}
		rows = append(rows, row)
	}
	testkit.Table(t, acrossPage, "runs of cycles", rows)
}

func TestRunsWhoseValuesAreCyclesAllowForNeighbours(t *testing.T) {
	slow := func(level float64) (values []float64) {
		for i := range 24 {
			values = append(values, level*math.Exp(0.02*math.Sin(float64(i)/4)))
		}
		return values
	}
	a, b := slow(100), slow(102)
	rounds, cycles := CompareRuns(a, b, Options{}), CompareRuns(a, b, Options{Consecutive: true})
	if cycles.Ratio != rounds.Ratio || !(cycles.CI[0] < rounds.CI[0] && rounds.CI[1] < cycles.CI[1]) {
		t.Errorf("the interval of cycles is %v and that of rounds %v, want it wider", cycles.CI, rounds.CI)
	}
	if few := CompareRuns(a[:3], b[:3], Options{Consecutive: true}); !few.Cause.Groups || few.Cause.Kind != CauseRounds {
		t.Errorf("the cause of three groups of cycles is %+v, want too few groups", few.Cause)
	}
	if !cycles.Cause.Groups || !strings.Contains(cycles.Reason, "groups of cycles") {
		t.Errorf("the reason is %q, %+v", cycles.Reason, cycles.Cause)
	}
	if _, outcome, why := (Bound{Limit: 1.025}).OfRuns(a, b, Options{Consecutive: true}); outcome != Open || !strings.Contains(why, "groups of cycles") {
		t.Errorf("the gate is %s: %q", outcome, why)
	}
	if v := CompareRuns([]float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, Options{Consecutive: true}); v.Decision != Equivalent {
		t.Errorf("equal values have %+v", v)
	}
}
