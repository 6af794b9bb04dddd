package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// keptPace is a trial of an open loop with a call each 2 ms. Call i takes so long.
func keptPace(t *testing.T, round, calls int, took func(i int) time.Duration) result.Trial {
	t.Helper()
	recorder := measure.NewRecorder(0)
	recorder.CountWindow(time.Duration(calls) * 2 * ms)
	for i := range calls {
		due := time.Duration(i) * 2 * ms
		recorder.Record(measure.Call{Due: due, Sent: due, Done: due + took(i), Backend: "b0", Code: measure.OK})
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	record := Record{Config: experiment.Config{Load: experiment.Load{Open: &experiment.Open{}}}, Merged: seen, Callers: make([]CallerRecord, 1)}
	return record.Summarize(result.Trial{Round: round})
}

// Calls in flight at the end of a block do not count in its rate. An arm that keeps up with the load makes as many calls as
// another, however long they take.
func TestAnArmThatKeepsUpMakesNoFewerCalls(t *testing.T) {
	quick := func(int) time.Duration { return 2 * ms }
	slow := func(int) time.Duration { return 20 * ms }
	behind := func(rate float64) func(int) time.Duration { // it answers so much of the load in the window
		return func(i int) time.Duration { return 2*ms + time.Duration(float64(2*i)*(1/rate-1)*float64(ms)) }
	}
	for name, c := range map[string]struct {
		blocks, calls int // calls of each block
		other         func(i int) time.Duration
		want, gate    string
		noted         bool
	}{
		"a slow arm in turns":          {10, 50, slow, "undecided", "not established", true},
		"a quick arm in turns":         {10, 50, quick, "equivalent", "held", true}, // a block may have a call more or less
		"a slow arm in one load":       {1, 5000, slow, "equivalent", "held", false},
		"a slow arm in loads of 0.1 s": {1, 50, slow, "undecided", "not established", true},
		"an arm that falls behind":     {1, 5000, behind(0.8), "worse", "failed", false},
		"an arm with half of the rate": {1, 5000, behind(0.5), "worse", "failed", false},
		"half of the rate in turns":    {10, 500, behind(0.5), "worse", "failed", false},
	} {
		run := func(name string, took func(int) time.Duration) result.Arm {
			a := result.Arm{Name: name, Config: openLoad}
			for round := range 4 {
				a.Trials = append(a.Trials, inPieces(round+1, c.blocks, func(n int) result.Trial { return keptPace(t, n, c.calls, took) }))
			}
			return a
		}
		base, other := run("base", quick), run("other", c.other)
		checkRate(t, name, base, other, c.want, c.gate, c.noted)
	}
}

// checkRate compares the rates of two arms, in a run and between two runs of one arm. noted: it is noted that calls in flight
// can have lowered the rate of the second.
func checkRate(t *testing.T, name string, base, other result.Arm, want, gate string, noted bool) {
	t.Helper()
	rate := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == "rate" })]
	d := result.Document{Baseline: "base", Rounds: 4, Arms: []result.Arm{base, other}}
	v := verdictOn(d, rate, comparison{other, base, result.OfBaseline}, nil, 1)
	if got := strings.Contains(strings.Join(v.Notes, "\n"), "can have lowered the rate of other by"); v.Decision != want || v.Unfit || got != noted {
		t.Errorf("%s: the rate is %s, %.3f (%.3f), %q, notes %q; want %s", name, v.Decision, v.Ratio, v.CI, v.Reason, v.Notes, want)
	}
	inRun := GateArms(d, gates(t, "rate ratio > 0.95"))[0]
	if open := gate == string(verdict.Open); inRun.Outcome != gate || open != strings.Contains(inRun.Reason, "more rounds cannot tell") || !GatesSettledIn(d, gates(t, "rate ratio > 0.95"), nil, nil) {
		t.Errorf("%s: the gate of the run is %s, %q, want %s, which more rounds do not change", name, inRun.Outcome, inRun.Reason, gate)
	}
	before, after := d, d // two runs of one arm
	before.Arms = []result.Arm{base}
	other.Name = base.Name
	after.Arms = []result.Arm{other}
	compared := Compare(before, after, CompareOptions{Gates: gates(t, "rate ratio > 0.95")})
	if r := ratioOf(t, compared, "rate"); r.Decision != want || compared.Gates[0].Outcome != gate {
		t.Errorf("%s, of two runs: the rate is %s, %.3f (%.3f), %q, and the gate %s; want %s and %s", name, r.Decision, r.Ratio, r.CI, r.Reason, compared.Gates[0].Outcome, want, gate)
	}
}

// inPieces is a trial of so many blocks, which load makes by their numbers from 1; 1: it is one piece.
func inPieces(round, blocks int, load func(n int) result.Trial) result.Trial {
	if blocks == 1 {
		return load(round)
	}
	var all []result.Trial
	for i := range blocks {
		all = append(all, load(blocks*(round-1)+i+1))
	}
	return MergeBlocks(result.Trial{Round: round}, all)
}

// With noise more rounds may show a ratio whose allowance does not contain the limit.
func TestOnlyAnAllowanceAroundEveryRatioLeavesAGateOpenForGood(t *testing.T) {
	gate, cut := gates(t, "rate ratio > 0.95")[0], cutOff{0.03, 0.03}
	for noise, want := range map[float64]bool{0.005: true, 0.05: false} {
		ci := [2]float64{0.97 * math.Exp(-noise-cut[1]), 0.97 * math.Exp(noise+cut[0])}
		if got := gate.openWithoutNoise(ci, cut); got != want {
			t.Errorf("with a noise of %g in %.3f: open for good is %v, want %v", noise, ci, got, want)
		}
	}
}
