package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/verdict"
)

// wholeRun is how runs are simulated: five arms in rounds or in turns, which are judged as a real run is.
type wholeRun struct {
	name        string
	cycles      int     // of a round; 0: isolated rounds
	looks       []int   // rounds; only the last: a run with fixed rounds
	correlation float64 // of neighbouring cycles, in a share of the noise of each arm
	share       float64
	louder      string  // the arm with three times the noise of the others
	failed      bool    // the first headline metric is failed calls and not p50
	late        float64 // share of the blocks of every arm whose calls the generator sends late
	noise       float64 // deviation of the p50 of an arm in a round or cycle; that of p99 is twice that
}

// summaryPage and tablesPage have the tables of simulations.
const (
	summaryPage = "../../docs/method/statistics.md"
	tablesPage  = "../../docs/method/statistics-tables.md"
)

// trueRatios are those of the arms to the baseline, at p50 and p99. The arm near differs just over the margin, so
// that equivalent is wrong. The arm slow is decided at p50, so that its p99, which does not differ, is tested.
var trueRatios = map[string][2]float64{"base": {1, 1}, "again": {1, 1}, "same": {1, 1}, "near": {1.0301, 1.0301}, "slow": {1.05, 1}}

// document returns a run of which no round is measured yet.
func (w wholeRun) document() result.Document {
	d := result.Document{Baseline: "base", Headline: []string{"latency_p50", "latency_p99"}, Design: "isolated", Seed: 1}
	if w.cycles > 0 {
		d.Design = "interleaved"
	}
	if w.failed {
		d.Headline = []string{"failed", "latency_p99"}
	}
	if len(w.looks) > 1 {
		d.Looks = w.looks
	}
	for _, name := range []string{"base", "again", "same", "near", "slow"} {
		arm := result.Arm{Name: name}
		if w.late > 0 {
			arm.Config = openLoad
		}
		if name == "again" {
			arm.Control = "base"
		}
		d.Arms = append(d.Arms, arm)
	}
	return d
}

// drawn returns the values of p50 and p99 of every arm in consecutive rounds or cycles.
func (w wholeRun) drawn(d result.Document, n int, r *rand.Rand) (p50, p99 [][]float64) {
	drift := make([]float64, n)
	for i := range drift {
		drift[i] = 0.2 * r.NormFloat64()
	}
	for _, arm := range d.Arms {
		noise := w.noise
		if arm.Name == w.louder {
			noise *= 3
		}
		first, second := make([]float64, n), make([]float64, n)
		x, y := w.neighbours(n, r), w.neighbours(n, r)
		for i := range first {
			ratio := trueRatios[arm.Name]
			first[i] = 10 * ratio[0] * math.Exp(noise*x[i]+drift[i])
			second[i] = 30 * ratio[1] * math.Exp(noise*(x[i]+math.Sqrt(3)*y[i])+drift[i])
		}
		p50, p99 = append(p50, first), append(p99, second)
	}
	return p50, p99
}

// neighbours returns values with a deviation of 1, of which a share is autocorrelated.
func (w wholeRun) neighbours(n int, r *rand.Rand) []float64 {
	values, state := make([]float64, n), r.NormFloat64()
	for i := range values {
		values[i] = math.Sqrt(w.share)*state + math.Sqrt(1-w.share)*r.NormFloat64()
		state = w.correlation*state + math.Sqrt(1-w.correlation*w.correlation)*r.NormFloat64()
	}
	return values
}

// run simulates a run to its end and returns its verdicts and its number of rounds. Half of the runs are without
// the arm near, which few runs decide, so that some end early.
func (w wholeRun) run(r *rand.Rand) ([]result.Verdict, int) {
	d, perRound, last := w.document(), max(w.cycles, 1), w.looks[len(w.looks)-1]
	if r.IntN(2) == 0 {
		d.Arms = slices.DeleteFunc(d.Arms, func(a result.Arm) bool { return a.Name == "near" })
	}
	p50, p99 := w.drawn(d, last*perRound, r)
	var losses [][]float64 // of rounds; those of arms in turns are neighbours
	for range d.Arms {
		if w.failed {
			losses = append(losses, w.neighbours(last, r))
		}
	}
	for round := 1; ; round++ {
		for i := range d.Arms {
			trial := measuredTrial(round, p50[i][round-1], p99[i][round-1])
			if w.failed {
				trial.Errors = map[string]uint64{"UNAVAILABLE": lost(d.Arms[i].Name, losses[i][round-1] > 0.43, r)}
			}
			for cycle := (round - 1) * w.cycles; cycle < round*w.cycles; cycle++ {
				late := w.lateness(r)
				of := measuredTrial(cycle+1, p50[i][cycle]+late, p99[i][cycle]+late)
				trial.Blocks = append(trial.Blocks, result.Block{Cycle: cycle + 1, Calls: of.Calls, Latency: of.Latency, Lateness: result.Histogram{P50: late, P99: late}})
			}
			d.Arms[i].Trials, d.Arms[i].Calls = append(d.Arms[i].Trials, trial), d.Arms[i].Calls+trial.Calls
		}
		if !slices.Contains(w.looks, round) {
			continue
		}
		if all := verdicts(d); round == last || decided(all) {
			return all, round
		}
	}
}

func measuredTrial(round int, p50, p99 float64) result.Trial {
	return result.Trial{Round: round, Measures: result.Measures{Calls: 1000, Latency: result.Histogram{HDR: "not read", P50: p50, P99: p99}}}
}

// lateness returns how late the calls of a block are sent, in ms: most are not late.
func (w wholeRun) lateness(r *rand.Rand) float64 {
	if w.late == 0 || r.Float64() >= w.late {
		return 0
	}
	return 1.2 + 3*r.ExpFloat64()
}

// lost returns how many calls of a trial fail: none, or many at once in every third trial. The arm slow loses more.
func lost(arm string, loses bool, r *rand.Rand) uint64 {
	switch {
	case arm == "slow":
		return 4 + uint64(r.IntN(4))
	case loses:
		return 1 + uint64(r.IntN(3))
	}
	return 0
}

// wrong says whether a headline verdict on the question of the run is wrong.
func (w wholeRun) wrong(all []result.Verdict) bool {
	return slices.ContainsFunc(all, func(v result.Verdict) bool {
		if v.Secondary || v.Kind == result.OfControl {
			return false
		}
		ratio := trueRatios[v.A][map[string]int{"latency_p99": 1}[v.Metric]]
		if v.Metric == "failed" && v.A != "slow" {
			ratio = 1
		}
		switch verdict.Decision(v.Decision) {
		case verdict.Better:
			return true
		case verdict.Worse:
			return ratio == 1
		case verdict.Equivalent:
			return ratio != 1
		}
		return false
	})
}

// TestCoverageOfWholeRuns simulates runs as they are: looks of a run until decided, headline metrics in order, a
// control, arms that help to estimate the noise, and all guards. At most 5 % of runs may have a wrong verdict on
// the question.
func TestCoverageOfWholeRuns(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| noise | looks after rounds or cycles | runs with a wrong verdict | slower by 5 % found | rounds or cycles of a run, on average |",
		"|---|---|--:|--:|--:|",
	}
	all := []wholeRun{
		{name: "rounds, 1 %", noise: 0.01, looks: []int{4, 8}},
		{name: "cycles, 2 %, half of it autocorrelated, 0.7", noise: 0.02, cycles: 10, correlation: 0.7, share: 0.5, looks: []int{2, 4}},
		{name: "rounds, 1 %", noise: 0.01, looks: []int{6}},
		{name: "rounds, 2 %", noise: 0.02, looks: []int{4, 8}},
		{name: "rounds, 1 %, the baseline 3 ×", noise: 0.01, louder: "base", looks: []int{4, 8}},
		{name: "rounds, 1 %, the slower arm 3 ×", noise: 0.01, louder: "slow", looks: []int{4, 8}},
		{name: "rounds, first the failed calls", noise: 0.01, failed: true, looks: []int{5, 10}},
		{name: "cycles, 2 %, independent", noise: 0.02, cycles: 10, looks: []int{2}},
		{name: "cycles, 2 %, independent", noise: 0.02, cycles: 10, looks: []int{2, 4, 8}},
		{name: "cycles, 2 %, autocorrelation 0.5", noise: 0.02, cycles: 10, correlation: 0.5, share: 1, looks: []int{2, 4, 8}},
		{name: "cycles, 2 %, autocorrelation 0.7", noise: 0.02, cycles: 10, correlation: 0.7, share: 1, looks: []int{2, 4, 8}},
		{name: "cycles, 2 %, half of it autocorrelated, 0.7", noise: 0.02, cycles: 10, correlation: 0.7, share: 0.5, looks: []int{2, 4, 8}},
		{name: "cycles, 1 %, half of it, 0.7, the baseline 3 ×", noise: 0.01, cycles: 10, correlation: 0.7, share: 0.5, louder: "base", looks: []int{2, 4, 8}},
		{name: "cycles, 2 %, independent, 1 % of the blocks late", noise: 0.02, cycles: 10, late: 0.01, looks: []int{2, 4, 8}},
		{name: "5 cycles a round, 2 %, autocorrelation 0.7, first the failed calls", noise: 0.02, cycles: 5, correlation: 0.7, share: 1, failed: true, looks: []int{8, 16}},
	}
	if *testkit.Sims < 1000 {
		all = all[:2]
	}
	for k, w := range all {
		r := rand.New(rand.NewPCG(71, uint64(k)))
		runs := max(20, *testkit.Sims/2)
		wrong, found, rounds := 0, 0, 0
		for range runs {
			all, took := w.run(r)
			if rounds += took; w.wrong(all) {
				wrong++
			}
			if slices.ContainsFunc(all, func(v result.Verdict) bool {
				return v.A == "slow" && v.Metric == "latency_p50" && v.Decision == string(verdict.Worse)
			}) {
				found++
			}
		}
		if testkit.TooMany(wrong, runs, 0.05) {
			t.Errorf("%s, looks %v: %d of %d runs have a wrong verdict, want at most 5 %%", w.name, w.looks, wrong, runs)
		}
		tells := fmt.Sprintf("%.0f %%", 100*float64(found)/float64(runs))
		if w.failed {
			tells = "–"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %.1f %% | %s | %.1f |", w.name, looksOf(w), 100*float64(wrong)/float64(runs),
			tells, float64(rounds*max(w.cycles, 1))/float64(runs)))
	}
	testkit.Table(t, summaryPage, "whole", rows)
}

func looksOf(w wholeRun) string {
	text := ""
	for i, look := range w.looks {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(look * max(w.cycles, 1))
	}
	return text
}

// TestPowerOfWholeRuns: a run says which differences 50, 80 and 95 % of such runs detect. The median of what runs say
// must be detected as often. Multiplying an arm multiplies its ratio and interval, so that one run serves all ratios.
func TestPowerOfWholeRuns(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| noise | rounds or cycles | said to be detected by 50 % | detected | by 80 % | detected | by 95 % | detected |",
		"|---|--:|--:|--:|--:|--:|--:|--:|",
	}
	all := []wholeRun{
		{name: "rounds, alike", looks: []int{4}},
		{name: "rounds, alike", looks: []int{6}},
		{name: "rounds, the baseline 3 ×", louder: "base", looks: []int{6}},
		{name: "rounds, one arm 3 ×", louder: "slow", looks: []int{6}},
		{name: "cycles, independent", cycles: 20, looks: []int{1}},
		{name: "cycles, independent", cycles: 80, looks: []int{1}},
		{name: "cycles, autocorrelation 0.5", cycles: 20, correlation: 0.5, share: 1, looks: []int{1}},
		{name: "cycles, autocorrelation 0.5", cycles: 80, correlation: 0.5, share: 1, looks: []int{1}},
	}
	if *testkit.Sims < 1000 {
		all = all[:2]
	}
	for k, w := range all {
		w.noise = 0.03
		r := rand.New(rand.NewPCG(72, uint64(k)))
		runs := max(20, *testkit.Sims/5)
		var said [3][]float64
		var needed []float64 // the factor from which on a run detects the difference
		for range runs {
			all, _ := w.run(r)
			for _, v := range all {
				if v.A == "slow" && v.Metric == "latency_p50" {
					needed = append(needed, trueRatios["slow"][0]*max(1/v.CI[0], 1.03/v.Ratio))
					for i, ratio := range []float64{v.Power.Ratio50, v.Power.Ratio80, v.Power.Ratio95} {
						said[i] = append(said[i], ratio)
					}
				}
			}
		}
		row := fmt.Sprintf("| %s | %d |", w.name, w.looks[0]*max(w.cycles, 1))
		for i, power := range []float64{0.5, 0.8, 0.95} {
			ratio, detected := verdict.Median(said[i]), 0
			for _, need := range needed {
				if need <= ratio {
					detected++
				}
			}
			got := float64(detected) / float64(runs)
			if slack := 0.12 + 5*math.Sqrt(power*(1-power)/float64(runs)); math.Abs(got-power) > slack {
				t.Errorf("%s: %.3f is said to be detected by %.0f %% of runs, and %.0f %% do", w.name, ratio, 100*power, 100*got)
			}
			row += fmt.Sprintf(" %.3f | %.0f %% |", ratio, 100*got)
		}
		rows = append(rows, row)
	}
	testkit.Table(t, tablesPage, "said", rows)
}
