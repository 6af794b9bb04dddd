package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Cycles whose ratio is correlated with that of their neighbours decide nothing, although as many independent
// rounds would.
func TestVerdictsOfArmsThatTakeTurnsAllowForNeighbours(t *testing.T) {
	arm := func(name string, latencies ...float64) result.Arm {
		return result.Arm{Name: name, Trials: []result.Trial{inBlocks(t, 1, 1, 300, latencies...)}}
	}
	d := result.Document{Baseline: "b", Arms: []result.Arm{
		arm("a", 10, 10, 10.1, 10.2, 10.4, 10.6, 10.9, 11.1, 11.2, 11.2, 11.3, 11.3),
		arm("b", 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
		arm("c", 10, 10.1, 10, 9.9, 10, 10.1, 10, 10, 9.9, 10, 10.1, 10),
	}}
	v := verdictOn(d, metrics[0], comparison{d.Arms[0], d.Arms[1], "baseline"}, d.Arms[2:], 1)
	if v.Decision != "undecided" || v.Cause == nil || !v.Cause.Groups || v.Rounds != 12 || v.CI[0] > 1 {
		t.Errorf("the verdict is %+v with the cause %+v, want it undecided because of its interval of 12 groups of cycles", v, v.Cause)
	}
}

// The blocks are too short to have steal time of their own, but their rounds have it.
func TestStealOfTheRoundsBarsAVerdictOnTheirBlocks(t *testing.T) {
	for stolen, want := range map[float64]string{0.1: "worse", 0.3: "undecided"} {
		d := result.Document{Baseline: "b"}
		for name, latency := range map[string]float64{"a": 20, "b": 10} {
			var trials []result.Trial
			for round := range 4 {
				x := inBlocks(t, round+1, 3*round+1, 300, latency, 1.01*latency, latency)
				x.Machine = &result.Interference{Stolen: stolen}
				for i := range x.Blocks {
					x.Blocks[i].Machine = &result.Interference{Others: new(0.0)}
				}
				trials = append(trials, x)
			}
			d.Arms = append(d.Arms, result.Arm{Name: name, Trials: trials})
		}
		slices.SortFunc(d.Arms, func(a, b result.Arm) int { return strings.Compare(a.Name, b.Name) })
		v := verdictOn(d, metrics[0], comparison{d.Arms[0], d.Arms[1], "baseline"}, nil, 1)
		if v.Cycles == 0 || v.Decision != want || strings.Contains(v.Reason, "(steal)") != (want == "undecided") {
			t.Errorf("with %g stolen the verdict on groups of %d cycles is %s, %q; want %s", stolen, v.Cycles, v.Decision, v.Reason, want)
		}
	}
}

// Two arms differ by more in one half of the run than in the other: as many independent rounds would establish the
// share of the gap that remains, neighbouring cycles do not.
func TestAnAccountOfArmsThatTakeTurnsAllowsForNeighbours(t *testing.T) {
	slow := []float64{90, 91, 92, 94, 96, 98, 102, 104, 106, 108, 109, 110}
	even := func(level float64) (values []float64) {
		for i := range slow {
			values = append(values, level+float64(i%2)/10)
		}
		return values
	}
	d := result.Document{Baseline: "shared", Confounds: []result.Confound{{Published: "new", Controlled: "pool"}}}
	for i, values := range [][]float64{even(100), slow, even(50)} {
		arm := result.Arm{Name: []string{"new", "pool", "shared"}[i], Config: map[string]any{"load": map[string]any{"open": map[string]any{}}}}
		arm.Trials = []result.Trial{inBlocks(t, 1, 1, 300, values[:6]...), inBlocks(t, 2, 7, 300, values[6:]...)}
		d.Arms = append(d.Arms, arm)
	}
	a := accounts(d)
	if len(a) != 1 || a[0].Cycles != 1 || math.Abs(a[0].Remains-1) > 0.02 || math.Abs(a[0].GapMS-50) > 1 || a[0].Reason != "" {
		t.Fatalf("the accounts are %+v, want one of cycles: all of 50 ms remains", a)
	}
	if independent := 2.2 * 7.4 / 50 / math.Sqrt(12); a[0].CI[1]-a[0].CI[0] < 3*independent {
		t.Errorf("the interval is %v, want one that is over 1.5 times as wide as that of independent values, ±%.2f", a[0].CI, independent)
	}
	for i := range d.Arms {
		d.Arms[i].Config = map[string]any{"load": map[string]any{"burst": 300}}
	}
	if a := accounts(d); a[0].Metric != "elapsed" || a[0].Cycles != 1 || math.Abs(a[0].GapMS-300) > 5 {
		t.Errorf("elapsed: %+v, want a gap of 300 ms a round, which has six blocks", a)
	}
}

// The processes of arms that take turns stay up, so four rounds have one value of memory each. Isolated rounds have four.
func TestArmsThatTakeTurnsHaveOneValueOfMemory(t *testing.T) {
	for _, inTurns := range []bool{true, false} {
		arm := func(name string, memory uint64) (a result.Arm) {
			a.Name = name
			for round := 1; round <= 4; round++ {
				one := trial(t, round, 10, 300)
				if inTurns {
					one = inBlocks(t, round, 2*round-1, 300, 10, 10)
				}
				one.Resources.Client.RSS = memory + uint64(round)
				a.Trials = append(a.Trials, one)
			}
			return a
		}
		d := result.Document{Baseline: "b", Margin: 0.03, Arms: []result.Arm{arm("a", 2000), arm("b", 1000)}}
		i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == "client_memory" })
		v := verdictOn(d, metrics[i], comparison{d.Arms[0], d.Arms[1], "baseline"}, nil, 1)
		before, after := d, d
		before.Arms, after.Arms = []result.Arm{arm("a", 1000)}, []result.Arm{arm("a", 2000)}
		c := Compare(before, after, CompareOptions{Gates: gates(t, "client_memory ratio < 1.5")})
		r := c.Ratios[slices.IndexFunc(c.Ratios, func(r result.Ratio) bool { return r.Metric == "client_memory" })]
		if inTurns && (r.Cause == nil || r.Cause.Kind != result.CauseProcess || c.Gates[0].Outcome != string(verdict.Open)) || !inTurns && (r.Decision != "worse" || c.Gates[0].Outcome != "failed") {
			t.Errorf("in turns %v: two runs have the ratio %+v and the gate %+v", inTurns, r, c.Gates[0])
		}
		if inTurns && (v.Decision != "undecided" || !v.Unfit || v.Cause.Kind != result.CauseProcess) || !inTurns && v.Decision != "worse" {
			t.Errorf("in turns %v: the verdict is %+v", inTurns, v)
		}
	}
}

// One round of two runs has many cycles, and they can be compared.
func TestRunsOfArmsThatTakeTurnsAreComparedByCycles(t *testing.T) {
	run := func(latencies ...float64) result.Document {
		d := runOf(t, 10)
		d.Arms[0].Trials = []result.Trial{inBlocks(t, 1, 1, 300, latencies...)}
		return d
	}
	a := run(10, 10.1, 10, 9.9, 10, 10.1, 10, 10, 9.9, 10, 10.1, 10)
	b := run(12, 12.1, 12, 11.9, 12, 12.1, 12, 12, 11.9, 12, 12.1, 12)
	c := Compare(a, b, CompareOptions{Gates: gates(t, "p50 ratio < 1.05", "p50 ratio < 1.3")})
	if r := ratioOf(t, c, "latency_p50"); r.Decision != "worse" || r.Trials != [2]int{12, 12} || r.Cycles != 1 || math.Abs(r.Ratio-1.2) > 0.01 {
		t.Errorf("p50 is %+v, want worse: a ratio of 1.2 of 12 cycles", r)
	}
	if c.Gates[0].Outcome != "failed" || c.Gates[1].Outcome != "held" {
		t.Errorf("the gates are %+v, want one failed and one held", c.Gates)
	}
	wandering := run(10, 10.2, 10.4, 10.7, 11, 11.3, 11.6, 11.8, 12, 12.1, 12.2, 12.2)
	if r := ratioOf(t, Compare(a, wandering, CompareOptions{}), "latency_p50"); r.Decision != "undecided" || r.Cause == nil || !r.Cause.Groups {
		t.Errorf("p50 that wanders by 20 %% is %+v (%+v), want undecided because of what neighbours share", r, r.Cause)
	}
	alone := runOf(t, 10, 10, 10.1, 10)
	if r := ratioOf(t, Compare(alone, a, CompareOptions{}), "latency_p50"); r.Cycles != 0 || r.Trials != [2]int{4, 1} {
		t.Errorf("a run without turns: %+v, want whole trials", r)
	}
}
