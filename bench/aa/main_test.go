package main

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestNoRunsAreRefused(t *testing.T) {
	for _, c := range [][3]int{{0, 20, 20}, {60, 0, 20}, {60, 20, 0}, {-1, 20, 20}} {
		if err := bench(c[0], c[1], c[2], t.TempDir()+"/aa.md"); err == nil || !strings.Contains(err.Error(), "use 1 or more") {
			t.Errorf("%v runs: error %v, want use 1 or more", c, err)
		}
	}
}

// Of 20 runs, one with a wrong headline interval reaches the goal and two miss it; 16 that show the
// difference reach the goal.
func TestPageCountsDecisions(t *testing.T) {
	equal := result.Document{Arms: []result.Arm{{Measures: result.Measures{Calls: 8000}}}, Verdicts: []result.Verdict{{Metric: "latency_p50", Decision: "equivalent", Ratio: 1, CI: [2]float64{0.99, 1.01}, Rounds: 40},
		{Metric: "rate", Decision: "better", Secondary: true}}}
	wrong := result.Document{Verdicts: []result.Verdict{{Metric: "latency_p50", Decision: "worse", Ratio: 1.1, CI: [2]float64{1.05, 1.15}, Rounds: 40},
		{Metric: "latency_p99", Decision: "better", Ratio: 0.9, CI: [2]float64{0.8, 0.95}}}}
	comparisonsOf := func(same, different int) *comparisons {
		c := &comparisons{outcomes: map[string]*outcome{}}
		for range same {
			c.add(equal)
		}
		for range different {
			c.add(wrong)
		}
		return c
	}
	faster := comparisonsOf(4, 15) // and a run that finds the slower arm faster
	faster.add(result.Document{Verdicts: []result.Verdict{{Metric: "latency_p50", Decision: "better", Ratio: 0.9, CI: [2]float64{0.85, 0.95}}}})
	for _, c := range []struct {
		aa, five, ab *comparisons
		want         []string
	}{
		{comparisonsOf(19, 1), comparisonsOf(19, 1), comparisonsOf(4, 16), []string{
			"interval: 1 of 20. As a share of the runs, the goal of at most 3 of 60 is reached", "different: 1 of 20. As a share of the runs, the goal of at most 5 % is reached", "at p50: 16 of 20. As a share of the runs, the goal of at least 16 of 20 is reached",
			"| **latency_p50** | 40 | 1 | 1 | 19 | 0 | 1.000 | ±1.0 % |", "| rate | 0 | 0 | 19 | 0 | 0 | – | – |", "and 8000 calls of each arm",
			"**At p50 and p99, a headline verdict was wrong in 1 of 20 runs of two equal arms and in 1 of 20 runs of five. A server with a delay of 2.1 ms was called slower than one with 2.0 ms in 16 of 20 runs.**"}},
		{comparisonsOf(20, 0), comparisonsOf(20, 0), faster, []string{"**Never at p50 or p99: a headline verdict was wrong in 0 of 20 runs of two equal arms and in 0 of 20 runs of five. "}},
		{comparisonsOf(18, 2), comparisonsOf(18, 2), faster, []string{"interval: 2 of 20. As a share of the runs, the goal of at most 3 of 60 is missed", "different: 2 of 20. As a share of the runs, the goal of at most 5 % is missed", "at p50: 15 of 20. As a share of the runs, the goal of at least 16 of 20 is missed"}},
	} {
		text := markdown(c.aa, c.five, c.ab, time.Now())
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		}
	}
}

// A p99 needs four groups of 1,000 calls, which the cycles of a run must have.
func TestARunHasCallsForItsHeadline(t *testing.T) {
	for name, text := range map[string][]byte{"aa": same, "family": family, "ab": slower} {
		plan, err := experiment.Expand(name+".yaml", text, experiment.Options{}, lab.Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range plan.Trials {
			open := trial.Config.Load.Open
			if calls := open.Rate * open.Duration.Seconds() * float64(plan.Rounds); open.Rate != 2000 || calls < 8000 {
				t.Errorf("%s, %s: %g calls at %g/s, want 8,000 or more at the rate of the page", name, trial.Arm, calls, open.Rate)
			}
		}
	}
}
