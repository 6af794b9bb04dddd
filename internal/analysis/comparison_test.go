package analysis

import (
	"math"
	"slices"
	"testing"

	"rpclab/internal/result"
)

// repeatedRun is a run in turns of an arm, the baseline and a control that repeats it. Baseline and control differ
// in every cycle, in opposite directions, so that their mean has no noise.
func repeatedRun(t *testing.T) result.Document {
	t.Helper()
	latencies := map[string][]float64{"slow": nil, "base": nil, "again": nil}
	for i := range 12 {
		noise := math.Pow(1.1, []float64{1, -1, -1, 1}[i%4])
		latencies["slow"] = append(latencies["slow"], 20)
		latencies["base"], latencies["again"] = append(latencies["base"], 16*noise), append(latencies["again"], 16/noise)
	}
	d := result.Document{Baseline: "base", Design: "interleaved", Rounds: 1, Headline: []string{"latency_p50"}}
	for _, name := range []string{"slow", "base", "again"} {
		arm := result.Arm{Name: name, Trials: []result.Trial{inBlocks(t, 1, 1, 300, latencies[name]...)}}
		if name == "again" {
			arm.Control = "base"
		}
		d.Arms = append(d.Arms, arm)
	}
	return d
}

// A control repeats the baseline, so other arms are compared with both of them.
func TestAControlRepeatsTheBaselineForOtherArms(t *testing.T) {
	alone := repeatedRun(t)
	alone.Arms = alone.Arms[:2]
	with, without := p50(t, Assemble(repeatedRun(t))), p50(t, Assemble(alone))
	if !slices.Equal(with.Repeats, []string{"again"}) || len(without.Repeats) > 0 {
		t.Errorf("repeats: %v with a control, %v without; want again and none", with.Repeats, without.Repeats)
	}
	if math.Abs(with.Ratio-1.25) > 0.005 || with.CI[1]-with.CI[0] > 0.02 || without.CI[1]-without.CI[0] < 0.1 {
		t.Errorf("with the control %.3f %.3f, without %.3f %.3f; want 1.25 with hardly any interval, and with a wide one", with.Ratio, with.CI, without.Ratio, without.CI)
	}
	for _, v := range Assemble(repeatedRun(t)).Verdicts {
		if v.Kind == result.OfControl && len(v.Repeats) > 0 {
			t.Errorf("%s of the control is compared with %v", v.Metric, v.Repeats)
		}
	}
}

// Two controls and the baseline count equally.
func TestTheMeanOfTwoControlsAndTheBaselineIsGeometric(t *testing.T) {
	arm := func(name string, latencies ...float64) result.Arm {
		a := result.Arm{Name: name}
		for i, x := range latencies {
			a.Trials = append(a.Trials, result.Trial{Round: i + 1, Measures: result.Measures{ElapsedMS: x}})
		}
		return a
	}
	p := comparison{a: arm("a", 1, 1), b: arm("b", 2, 10)}
	of := func(t result.Trial) float64 { return t.ElapsedMS }
	repeats := []result.Arm{arm("c", 4, 10), arm("without", 5, 0), arm("d", 8, 10)}
	pairs, names := averaged(paired(p.a, p.b, of), p, repeats, of)
	if !slices.Equal(names, []string{"c", "d"}) || math.Abs(pairs[0].B-4) > 1e-9 || math.Abs(pairs[1].B-10) > 1e-9 {
		t.Errorf("%v of %v, want 4 and 10 of c and d", pairs, names)
	}
}

// A control without the same cycles, or whose value is no measurement, repeats nothing.
func TestAControlThatCannotBeUsedRepeatsNothing(t *testing.T) {
	for name, change := range map[string]func(*result.Arm){
		"a failed trial": func(a *result.Arm) { a.Trials[0].Failed = "died" },
		"no trial":       func(a *result.Arm) { a.Trials = nil },
		"other group":    func(a *result.Arm) { a.Trials[0].Group = 2 },
		"limited": func(a *result.Arm) {
			for i := range a.Trials[0].Blocks {
				a.Trials[0].Blocks[i].Limited, a.Trials[0].Blocks[i].LimitedBy = "the generator", result.LimitedByProcessors
			}
		},
	} {
		d := repeatedRun(t)
		change(&d.Arms[2])
		if v := p50(t, Assemble(d)); len(v.Repeats) > 0 || v.Rounds != 12 || !(v.CI[1]-v.CI[0] > 0.1) {
			t.Errorf("%s: repeats %v, %d pairs, %.3f (%s), want none, and all 12 pairs", name, v.Repeats, v.Rounds, v.CI, v.Reason)
		}
	}
}

// The baseline is up in both groups of arms, so it has two trials in a round.
func TestRoundsOfGroupsAreCountedOnce(t *testing.T) {
	arm := result.Arm{Name: "base", Trials: []result.Trial{
		{Round: 1, Group: 1, Failed: "no port is free"}, {Round: 2, Group: 1}, {Round: 1, Group: 2, Failed: "no port is free"}, {Round: 2, Group: 2},
	}}
	why := failedTrials(metrics[0], result.Document{}, arm)
	if why.text != "1 of 2 rounds of base gave no measurement" || why.cause.Have != 1 || why.cause.Needed != 2 {
		t.Errorf("the reason is %+v, want that 1 of 2 rounds gave no measurement", why)
	}
}
