package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/verdict"
)

var openLoad = map[string]any{"load": map[string]any{"open": map[string]any{"rate": 500}}}

// lateInTurns returns two arms that took turns, of 50 calls a block. The p50 of a block is 2.5 ms with 1 % of noise; lateness
// adds to that of some blocks of the arm other.
func lateInTurns(rounds, blocks int, lateness func(cycle int) float64, random *rand.Rand) result.Document {
	d := result.Document{Baseline: "base", Design: "interleaved", Rounds: rounds, Headline: []string{"latency_p50"}}
	for _, name := range []string{"base", "other"} {
		arm := result.Arm{Name: name, Config: openLoad}
		for round := range rounds {
			of := result.Trial{Round: round + 1}
			for i := range blocks {
				b := result.Block{Cycle: round*blocks + i + 1, Calls: 50}
				b.Latency = result.Histogram{HDR: "not read", P50: 2.5 * math.Exp(0.01*random.NormFloat64())}
				if name == "other" {
					b.Lateness.P50 = lateness(b.Cycle)
					b.Latency.P50 += b.Lateness.P50
				}
				of.Blocks = append(of.Blocks, b)
			}
			arm.Trials = append(arm.Trials, of)
		}
		d.Arms = append(d.Arms, arm)
	}
	return d
}

// Calls that were sent late in few groups of cycles can have changed the ratio by less than the margin. They make its
// interval wider and bar no verdict.
func TestFewLateGroupsWidenTheIntervalOfAPercentile(t *testing.T) {
	for name, c := range map[string]struct {
		rounds, blocks, late int
		want                 string
		kind                 result.CauseKind
	}{
		"none of 200 groups": {20, 10, 0, "equivalent", ""},
		"one of 200":         {20, 10, 1, "equivalent", ""},
		"every fifth":        {20, 10, 40, "undecided", result.CauseGenerator}, // can have changed it by 5 %
		"all":                {20, 10, 200, "undecided", result.CauseGenerator},
		"one of 4":           {4, 1, 1, "undecided", result.CauseGenerator},
	} {
		every := max(1, c.rounds*c.blocks/max(c.late, 1))
		d := lateInTurns(c.rounds, c.blocks, func(cycle int) float64 {
			if c.late > 0 && cycle%every == 0 {
				return 0.7
			}
			return 0
		}, rand.New(rand.NewPCG(17, 1)))
		v := verdictOn(d, metrics[0], comparison{d.Arms[1], d.Arms[0], result.OfBaseline}, nil, 1)
		if v.Decision != c.want || v.Unfit != (c.kind != "") || c.kind != "" && v.Cause.Kind != c.kind {
			t.Errorf("%s late: %s, %q, interval %g; want %s", name, v.Decision, v.Reason, v.CI, c.want)
		}
		const said = "rpclab sent calls up to 0.7 ms late (p50), at a latency of 3.2 ms, in 1 of 200 groups of cycles of other: that can have raised its p50 by 0.1"
		if says := strings.Contains(strings.Join(v.Notes, "\n"), said); says != (c.late == 1 && c.want == "equivalent") {
			t.Errorf("%s late: the notes are %q", name, v.Notes)
		}
		if p := v.Power; (p.Raised > 0) != (c.late == 1 && c.want == "equivalent") {
			t.Errorf("%s late: the power is %+v", name, p)
		}
		before := d // the lower end of the interval allows for lateness of the arm other, and the upper for that of base
		before.Arms = d.Arms[:1]
		after := d
		after.Arms = []result.Arm{d.Arms[1]}
		after.Arms[0].Name = "base"
		r := ratioOf(t, Compare(before, after, CompareOptions{}), "latency_p50")
		if barred := r.Cause != nil && r.Cause.Kind == result.CauseGenerator; barred != (c.kind != "") {
			t.Errorf("%s late, of two runs: %s, %q", name, r.Decision, r.Reason)
		}
	}
}

// Late calls count at worst as the quickest group that was on time, or as those of a group that was quicker without them.
func TestByHowMuchLateCallsCanHaveRaisedAPercentile(t *testing.T) {
	trial := func(p50, late float64) (x result.Trial) {
		x.Latency, x.Lateness = result.Histogram{HDR: "not read", P50: p50}, result.Histogram{P50: late}
		return x
	}
	for name, c := range map[string]struct {
		trials []result.Trial
		want   float64
	}{
		"on time":                       {[]result.Trial{trial(2, 0), trial(3, 0.5), trial(30, 3)}, 0},
		"one late":                      {[]result.Trial{trial(2, 0), trial(2.2, 0), trial(4, 2), trial(2, 0)}, math.Log(2) / 4},
		"two late":                      {[]result.Trial{trial(2, 0), trial(6, 2), trial(4, 2), trial(2, 0)}, (math.Log(2) + math.Log(3)) / 4},
		"late and quicker than others":  {[]result.Trial{trial(2, 0), trial(2, 0), trial(1.8, 0.6), trial(2, 0)}, math.Log(1.8/1.2) / 4},
		"none on time":                  {[]result.Trial{trial(4, 2), trial(4, 2)}, math.Inf(1)},
		"a trial without a measurement": {[]result.Trial{trial(4, 2), {Failed: "died"}}, math.Inf(1)},
	} {
		got := metrics[0].raised(result.Arm{Config: openLoad, Trials: c.trials})
		if !(math.Abs(got.most-c.want) < 1e-9) && got.most != c.want {
			t.Errorf("%s: the mean logarithm is raised by %g, want %g", name, got.most, c.want)
		}
	}
}

// In one of 20 rounds all calls of an arm are 0.9 ms late: that can have raised its mean by 2 %. In half of the rounds, it can
// have raised the mean by more than the margin.
func TestOneLateRoundLeavesTheMean(t *testing.T) {
	for every, unfit := range map[int]bool{20: false, 2: true} {
		d := result.Document{Baseline: "one", Design: "interleaved", Rounds: 20}
		for _, name := range []string{"one", "other"} {
			arm := result.Arm{Name: name, Config: openLoad}
			for round := range 20 {
				var blocks []result.Trial
				for i := range 5 {
					late := 0
					if name == "other" && round%every == 1 {
						late = 50
					}
					blocks = append(blocks, pacedBlock(t, 5*round+i+1, late, 900*time.Microsecond))
				}
				arm.Trials = append(arm.Trials, MergeBlocks(result.Trial{Round: round + 1}, blocks))
			}
			d.Arms = append(d.Arms, arm)
		}
		for _, v := range Assemble(d).Verdicts {
			allows := strings.Contains(strings.Join(v.Notes, "\n"), "in 5 of 100 groups of cycles of other: that can have raised its mean by 1.9 %")
			if v.Metric == "latency_mean" && (v.Unfit != unfit || allows == unfit) {
				t.Errorf("every %d. round is late: the verdict on the mean is %s, %q, with the notes %q; want it unfit: %v", every, v.Decision, v.Reason, v.Notes, unfit)
			}
		}
	}
}

// A merged run is the mean of runs, and a late trial weighs more in a run with fewer rounds.
func TestALateTrialBarsAPercentileOfMergedRuns(t *testing.T) {
	arm := result.Arm{Config: openLoad}
	for i := range 16 {
		x := result.Trial{Round: i + 1}
		x.Latency, x.Calls = result.Histogram{HDR: "not read", P50: 2}, 1000
		if i == 0 {
			x.Latency.P50, x.Lateness.P50 = 2.4, 2
		}
		arm.Trials = append(arm.Trials, x)
	}
	for _, merged := range [][]int{nil, {1, 1, 1, 13}} {
		why := generatorLimited(metrics[0], result.Document{MergedRounds: merged}, arm)
		if (why.text != "") != (merged != nil) {
			t.Errorf("with runs of %v rounds: %q, want a reason of merged runs alone", merged, why.text)
		}
	}
}

// TestCoverageOfLateGroups simulates runs in which the generator stalls for some milliseconds in some groups of cycles of one
// arm. Equal arms must not differ, and arms that differ by just over the margin must not be equivalent.
func TestCoverageOfLateGroups(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| groups of cycles | share of late groups | runs with a late group | runs with a wrong verdict without an allowance | with it | equal arms are equivalent |",
		"|--:|--:|--:|--:|--:|--:|",
	}
	for k, c := range []struct {
		groups int
		share  float64
	}{{40, 0.005}, {40, 0.02}, {200, 0.005}, {200, 0.02}, {800, 0.005}, {800, 0.02}} {
		runs := max(100, *testkit.Sims/4)
		if *testkit.Sims < 1000 && c.groups > 200 {
			continue
		}
		random := rand.New(rand.NewPCG(73, uint64(k)))
		withLate, naive, wrong, equivalent := 0, 0, 0, 0
		for i := range runs {
			equal := i%2 == 0
			late := false
			d := lateInTurns(c.groups/10, 10, func(int) float64 {
				if random.Float64() >= c.share {
					return 0
				}
				late = true
				return 0.6 + 3*random.ExpFloat64()
			}, random)
			pair, _, cycles := inGroups(metrics[0], []result.Arm{d.Arms[1], d.Arms[0]}, nil, 1)
			if !equal { // the arm is quicker by just over the margin, and late calls hide that
				for j := range pair[0].Trials {
					x := &pair[0].Trials[j]
					x.Latency.P50 = (x.Latency.P50-x.Lateness.P50)/1.0301 + x.Lateness.P50
				}
			}
			o := verdict.Options{Consecutive: cycles > 0, LowerIsBetter: true}
			values := paired(pair[0], pair[1], metrics[0].of)
			isWrong := func(v verdict.Verdict) bool {
				if equal {
					return v.Decision == verdict.Better || v.Decision == verdict.Worse
				}
				return v.Decision == verdict.Equivalent || v.Decision == verdict.Worse
			}
			if late {
				withLate++
			}
			if isWrong(verdict.Compare(values, o)) {
				naive++
			}
			raised := metrics[0].raised(pair[0])
			if raised.within(0) != raised.most {
				continue // no verdict
			}
			o.Raised[0] = raised.most
			v := verdict.Compare(values, o)
			if isWrong(v) {
				wrong++
			}
			if equal && v.Decision == verdict.Equivalent {
				equivalent++
			}
		}
		if testkit.TooMany(wrong, runs, 0.05) {
			t.Errorf("%d groups, of which %g are late: %d of %d runs have a wrong verdict, want at most 5 %%", c.groups, c.share, wrong, runs)
		}
		if c.groups == 200 && c.share == 0.005 && equivalent < runs/6 {
			t.Errorf("%d groups, of which %g are late: %d of %d equal arms are equivalent, want a third", c.groups, c.share, equivalent, runs/2)
		}
		rows = append(rows, fmt.Sprintf("| %d | %.1f %% | %.0f %% | %.1f %% | %.1f %% | %.0f %% |", c.groups, 100*c.share, testkit.Percent(withLate, runs),
			testkit.Percent(naive, runs), testkit.Percent(wrong, runs), 2*testkit.Percent(equivalent, runs)))
	}
	testkit.Table(t, tablesPage, "late", rows)
}

// Calls that are late by over a hundredth of the load may end after it, however long they take.
func TestTheRateIsJudgedByTheTimeOfTheLoad(t *testing.T) {
	for _, c := range []struct {
		by    time.Duration
		unfit bool
	}{{15 * ms, false}, {30 * ms, true}} {
		d := result.Document{Baseline: "one", Rounds: 4}
		for _, arm := range []string{"one", "same"} {
			a := result.Arm{Name: arm, Config: openLoad}
			for round := range 4 {
				service := 400*ms + time.Duration(round)*time.Microsecond
				a.Trials = append(a.Trials, pacedTrial(t, round+1, 1000, service, c.by, func(i int) bool { return i%50 == 0 }))
			}
			d.Arms = append(d.Arms, a)
		}
		for _, v := range Assemble(d).Verdicts {
			if v.Metric == "rate" && (v.Unfit != c.unfit || c.unfit && (v.Cause.Kind != result.CauseGenerator || !strings.Contains(v.Reason, "30.0 ms late (p99), in a load of 2000 ms"))) {
				t.Errorf("2 %% of the calls are %s late in 2 s, at a latency of 0.4 s: the rate is %s, %q; want a verdict: %v", c.by, v.Decision, v.Reason, !c.unfit)
			}
			if v.Metric == "latency_p99" && v.Unfit {
				t.Errorf("calls that are %s late at a latency of 0.4 s limit p99: %s", c.by, v.Reason)
			}
		}
	}
}
