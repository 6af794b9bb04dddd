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

// cycleNoise draws the log ratios of n consecutive groups of cycles of two arms that do not differ.
type cycleNoise func(n int, r *rand.Rand) []float64

// autoregressive values have this correlation with their neighbours, and a deviation of 1.
func autoregressive(correlation float64) cycleNoise {
	return func(n int, r *rand.Rand) []float64 {
		values, state := make([]float64, n), r.NormFloat64()
		for i := range values {
			values[i] = state
			state = correlation*state + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		}
		return values
	}
}

var independent = autoregressive(0)

// bursts start in one of 20 cycles, last for 4 cycles, and affect one arm more than the other.
func bursts(n int, r *rand.Rand) []float64 {
	values, left, level := make([]float64, n), 0, 0.0
	for i := -20; i < n; i++ {
		if left == 0 && r.IntN(20) == 0 {
			left, level = 1+int(3*r.ExpFloat64()), 3*r.NormFloat64()
		}
		if left > 0 {
			left--
			values[max(i, 0)] = level
		} else {
			values[max(i, 0)] = 0
		}
	}
	return values
}

// paretoTails make one block of ten longer by a factor with a Pareto distribution.
func paretoTails(n int, r *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		for _, arm := range []float64{1, -1} {
			if r.IntN(10) == 0 {
				values[i] += arm * 5 * r.ExpFloat64() // the logarithm of a Pareto value
			}
		}
	}
	return values
}

// oneTail gives only one arm a tail, which does not cancel out.
func oneTail(n int, r *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = r.ExpFloat64() - 1
	}
	return values
}

// wandering simulates a machine whose speed is a random walk from block to block. The two arms are measured at
// different times of a cycle of five.
func wandering(n int, r *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		var level [5]float64
		for k := 1; k < 5; k++ {
			level[k] = level[k-1] + r.NormFloat64()
		}
		order := r.Perm(5)
		values[i] = level[order[0]] - level[order[1]]
	}
	return values
}

// drifting has a ratio that drifts by four deviations during the run. The test compares its mean.
func drifting(n int, r *rand.Rand) []float64 {
	values, total := make([]float64, n), 4.0
	if r.IntN(2) == 0 {
		total = -total
	}
	for i := range values {
		values[i] = total * (float64(i)/float64(n-1) - 0.5)
	}
	return values
}

// all adds noises up.
func all(of ...cycleNoise) cycleNoise {
	return func(n int, r *rand.Rand) []float64 {
		sum := make([]float64, n)
		for _, s := range of {
			for i, x := range s(n, r) {
				sum[i] += x
			}
		}
		return sum
	}
}

// times makes a noise louder.
func times(factor float64, of cycleNoise) cycleNoise {
	return func(n int, r *rand.Rand) []float64 {
		values := of(n, r)
		for i := range values {
			values[i] *= factor
		}
		return values
	}
}

var cycleNoises = []struct {
	name string
	draw cycleNoise
}{
	{"independent", independent},
	{"autocorrelation 0.3", autoregressive(0.3)},
	{"autocorrelation 0.5", autoregressive(0.5)},
	{"autocorrelation 0.7", autoregressive(0.7)},
	{"half of it autocorrelated, 0.7", all(independent, autoregressive(0.7))},
	{"the machine wanders", all(independent, wandering)},
	{"bursts", all(independent, bursts)},
	{"Pareto tails", all(independent, paretoTails)},
	{"a tail in one arm", oneTail},
	{"autocorrelation 0.5, bursts and tails", all(autoregressive(0.5), bursts, paretoTails)},
	{"the ratio drifts", all(independent, drifting)},
	{"a quarter of it autocorrelated, 0.7", all(times(math.Sqrt(3), independent), autoregressive(0.7))},
	{"three quarters of it autocorrelated, 0.7", all(independent, times(math.Sqrt(3), autoregressive(0.7)))},
}

// TestCoverageOfCycles checks that the interval contains the truth in at least 93 % of runs, and that all of 12
// intervals of a run do in 95 %, however neighbouring cycles depend on each other.
func TestCoverageOfCycles(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	sizes := []int{8, 12, 20, 40, 100, 200}
	rows := []string{"| noise | " + joined(sizes, "%d cycles") + " |", "|---|" + strings.Repeat("---|", len(sizes))}
	if *testkit.Sims < 1000 {
		sizes = []int{12}
	}
	for k, noise := range cycleNoises {
		row := "| " + noise.name + " |"
		for _, n := range sizes {
			r := rand.New(rand.NewPCG(61, uint64(100*n+k)))
			missed, wrong := 0, 0
			for range *testkit.Sims {
				again := false
				for of := range 12 {
					logs := noise.draw(n, r)
					if !studentMisses(logs, 0.05) {
						continue
					}
					p := dependent(logs, nil).beyond(mean(logs))
					if of == 0 && p < 0.05 {
						missed++
					}
					again = again || p < 0.05/12
				}
				if again {
					wrong++
				}
			}
			if testkit.TooMany(missed, *testkit.Sims, 0.075) || testkit.TooMany(wrong, *testkit.Sims, 0.055) {
				t.Errorf("%s, %d cycles: the interval misses the truth in %d runs, and one of 12 does in %d, of %d; want at most 7 %% and 5 %%", noise.name, n, missed, wrong, *testkit.Sims)
			}
			row += fmt.Sprintf(" %.1f, %.1f |", 100-testkit.Percent(missed, *testkit.Sims), testkit.Percent(wrong, *testkit.Sims))
		}
		rows = append(rows, row)
	}
	testkit.Table(t, summaryPage, "cycles", rows)
}

// TestCoverageOfSlowNoise compares two intervals of the same runs of six rounds, of noise of which a small part lasts for
// tens of cycles: that of the cycles, and Student's of the means of the rounds. Both miss the truth too often, so rounds are
// no remedy (docs/decisions/0032-cycles.md).
func TestCoverageOfSlowNoise(t *testing.T) {
	t.Parallel()
	slow := all(times(math.Sqrt(0.83), independent), times(math.Sqrt(0.17), autoregressive(0.93)))
	for _, c := range []struct {
		name  string
		draw  cycleNoise
		cycle int // of a round
	}{{"0.93 in 17 %", slow, 12}, {"0.93 in 17 %", slow, 40}, {"0.7 in all", autoregressive(0.7), 12}} {
		r := rand.New(rand.NewPCG(68, uint64(c.cycle)))
		byCycles, byRounds := 0, 0
		for range *testkit.Sims {
			logs := c.draw(6*c.cycle, r)
			if studentMisses(logs, 0.05) && dependent(logs, nil).beyond(mean(logs)) < 0.05 {
				byCycles++
			}
			var rounds []float64
			for round := range slices.Chunk(logs, c.cycle) {
				rounds = append(rounds, mean(round))
			}
			if studentMisses(rounds, 0.05) {
				byRounds++
			}
		}
		t.Logf("%s, 6 rounds of %d cycles: the interval misses the truth in %.1f %% of runs by cycles, in %.1f %% by rounds",
			c.name, c.cycle, testkit.Percent(byCycles, *testkit.Sims), testkit.Percent(byRounds, *testkit.Sims))
		if 2*byRounds < byCycles {
			t.Errorf("%s, %d cycles: rounds miss in %d runs and cycles in %d, so rounds are a remedy", c.name, c.cycle, byRounds, byCycles)
		}
	}
}

// studentMisses reports whether Student's interval of the mean excludes 0. No dependence implies a smaller standard
// error than independence, so where this is false the interval of neighbouring cycles contains 0 too.
func studentMisses(logs []float64, alpha float64) bool {
	return math.Abs(mean(logs)) > student(len(logs), alpha)*deviation(logs)/math.Sqrt(float64(len(logs)))
}

func joined(values []int, format string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	return strings.Join(texts, " | ")
}

// TestPowerOfCycles compares designs in equal time, with five arms of which one is slower. A trial of an
// isolated run takes a second, including its start, and a block a quarter of that; both have the same noise.
func TestPowerOfCycles(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	const arms = 5
	rows := []string{
		"| time | slower by | isolated | in turns, autocorrelation 0 | 0.3 | 0.5 | 0.7 |",
		"|--:|--:|---|---|---|---|---|",
	}
	for _, seconds := range []int{20, 30, 60, 120} {
		for _, slower := range []float64{0.05, 0.10} {
			rounds, cycles := seconds/arms, 4*seconds/arms
			row := fmt.Sprintf("| %d s | %.0f %% | %.0f %% of %d rounds |", seconds, 100*slower, detected(rounds, slower, 0, Options{}), rounds)
			for _, correlation := range []float64{0, 0.3, 0.5, 0.7} {
				if *testkit.Sims < 1000 && (seconds != 30 || correlation > 0) {
					continue
				}
				found := detected(cycles, slower, correlation, Options{Consecutive: true})
				if seconds == 30 && slower == 0.10 && correlation == 0 && found < 80 {
					t.Errorf("%d cycles of arms with a noise of 3 %%: a difference of 10 %% is found in %.0f %% of runs, want 80 %%", cycles, found)
				}
				row += fmt.Sprintf(" %.0f %% of %d |", found, cycles)
			}
			rows = append(rows, row)
		}
	}
	testkit.Table(t, summaryPage, "equal", rows)
}

// detected returns the percentage of runs that decide that the last of five arms is slower.
func detected(n int, slower, correlation float64, o Options) float64 {
	alike := cell{"", func(int, int) armNoise { return armNoise{0.03, correlation} }}
	r := rand.New(rand.NewPCG(64, uint64(n)))
	found := 0
	for range *testkit.Sims {
		values := alike.values(5, n, r)
		pairs := make([]Pair, n)
		for i := range pairs {
			pairs[i] = Pair{A: values[4][i] * (1 + slower), B: values[0][i]}
		}
		of := o
		of.Family, of.Others = 4, values[1:4]
		of = of.withDefaults()
		logs, _ := logRatios(pairs)
		if o.Consecutive && !studentMisses(logs, of.alpha()) {
			continue
		}
		if m := mean(logs); m > math.Log1p(of.Margin) && uncertaintyOf(pairs, logs, of).beyond(m) < of.alpha() {
			found++
		}
	}
	return testkit.Percent(found, *testkit.Sims)
}

func TestNeighboursThatShareWidenTheInterval(t *testing.T) {
	o := Options{Consecutive: true, LowerIsBetter: true}
	apart := against(1.05, 1.06, 1.05, 1.06, 1.05, 1.06, 1.05, 1.06, 1.05, 1.06, 1.05, 1.06)
	slow := against(1.00, 1.00, 1.01, 1.02, 1.04, 1.06, 1.09, 1.11, 1.12, 1.12, 1.13, 1.13)
	if plain, v := Compare(slow, Options{}), Compare(slow, o); v.CI[1]-v.CI[0] < 2*(plain.CI[1]-plain.CI[0]) || v.Decision != Undecided {
		t.Errorf("the interval of a ratio that wanders is %.3f, that of independent rounds %.3f, and the decision %s; want at least twice the width, and undecided", v.CI, plain.CI, v.Decision)
	}
	if v := Compare(apart, o); v.Decision != Worse {
		t.Errorf("the decision is %s, %.3f (%s), want worse", v.Decision, v.CI, v.Reason)
	}
	same := Compare(against(1, 1, 1, 1, 1, 1, 1, 1), o)
	if same.Decision != Equivalent || same.CI != [2]float64{1, 1} {
		t.Errorf("equal values have %+v", same)
	}
	few := Compare(against(1, 2, 3), o)
	if few.Reason != "3 groups of cycles; at least 4 are needed" {
		t.Errorf("the reason is %q", few.Reason)
	}
}

// TestCyclesNeededNarrowTheInterval checks that the number of cycles for which an undecided verdict asks
// decides it, or nearly does.
func TestCyclesNeededNarrowTheInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(66, 66))
	asked, enough := 0, 0
	for range *testkit.Sims {
		logs := autoregressive(0.3)(400, r)
		for i, x := range logs {
			logs[i] = 0.05 + 0.06*x
		}
		all := make([]Pair, len(logs))
		for i, x := range logs {
			all[i] = Pair{A: math.Exp(x), B: 1}
		}
		o := Options{Consecutive: true, LowerIsBetter: true}
		v := Compare(all[:20], o)
		if n := int(v.Cause.Needed); v.Decision == Undecided && n > 20 && 2*n <= len(all) {
			asked++
			if Compare(all[:2*n], o).Decision != Undecided {
				enough++
			}
		}
	}
	if asked == 0 || testkit.TooMany(asked-enough, asked, 0.3) {
		t.Errorf("twice the cycles that are asked for decide %d of %d comparisons, want 70 %%", enough, asked)
	}
}

// TestDoubtsOfCyclesAreRare checks that dependence of neighbouring cycles does not count as drift.
func TestDoubtsOfCyclesAreRare(t *testing.T) {
	o := Options{Consecutive: true}
	for _, correlation := range []float64{0, 0.3, 0.7} {
		r := rand.New(rand.NewPCG(67, 67))
		drifts, outliers, found := 0, 0, 0
		for range *testkit.Sims {
			logs := autoregressive(correlation)(40, r)
			for i, x := range logs {
				logs[i] = 0.1 * x
			}
			if _, p := trend(logs, o); p <= driftLevel {
				drifts++
			}
			if Outlier(logs, outlierLevel) >= 0 {
				outliers++
			}
			for i := range logs {
				logs[i] += 0.02 * float64(i)
			}
			if _, p := trend(logs, o); p <= driftLevel {
				found++
			}
		}
		if testkit.TooMany(drifts, *testkit.Sims, driftLevel) || testkit.TooMany(outliers, *testkit.Sims, outlierLevel) {
			t.Errorf("correlation %g: %d drifts and %d outliers in %d runs without, want %g and %g of them", correlation, drifts, outliers, *testkit.Sims, driftLevel, outlierLevel)
		}
		if correlation == 0 && testkit.TooMany(*testkit.Sims-found, *testkit.Sims, 0.05) {
			t.Errorf("a drift of 8 deviations is seen in %d of %d runs, want 95 %%", found, *testkit.Sims)
		}
	}
}
