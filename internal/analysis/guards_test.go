package analysis

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// Each of these runs has a clear difference in its numbers, and a guard against relying on it.
func TestGuardsLeaveAnUnreliableDifferenceUndecided(t *testing.T) {
	each := func(spoil func(*result.Trial)) func(*result.Document) {
		return func(d *result.Document) {
			for i := range d.Arms[1].Trials {
				spoil(&d.Arms[1].Trials[i])
			}
		}
	}
	for want, spoil := range map[string]func(*result.Document){
		"throttled":                             each(func(x *result.Trial) { x.Machine = &result.Interference{Throttled: 0.2} }),
		"(steal)":                               each(func(x *result.Trial) { x.Machine = &result.Interference{Stolen: 0.3} }),
		"the load generator was the bottleneck": each(func(x *result.Trial) { x.Limited = "late" }),
		"has 10 calls":                          each(func(x *result.Trial) { x.Calls = 10 }),
		"the clock":                             func(d *result.Document) { d.Machine.ClockNS = 1e6 },
		"the control again": func(d *result.Document) {
			again := d.Arms[1] // as different from base as other is
			again.Name, again.Control = "again", "base"
			d.Arms = append(d.Arms, again)
		},
	} {
		d := arms(t, 20, 20, 20, 20, 20)
		spoil(&d)
		if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, want) {
			t.Errorf("the verdict is %s, %s; want undecided: %s", v.Decision, v.Reason, want)
		}
	}
	drifting := arms(t, 13, 12.5, 12, 11.5, 11, 10.6)
	if v := decision(t, drifting); v.Decision != "undecided" || !strings.Contains(v.Reason, "drift: the ratio fell") {
		t.Errorf("with a drift: %s, %s; want undecided", v.Decision, v.Reason)
	}
	far := arms(t, 30, 31, 32, 33, 34, 35)
	if v := decision(t, far); v.Decision != "worse" || len(v.Notes) != 1 {
		t.Errorf("with a drift far from 1: %s, %s, %q; want worse with a note", v.Decision, v.Reason, v.Notes)
	}
}

// A step of the clock can make 10 ms 11 ms, which is no reason to doubt that 30 ms are longer.
func TestACoarseClockBarsOnlySimilarMedians(t *testing.T) {
	for other, want := range map[float64]string{30: "worse", 20: "undecided"} {
		d := arms(t, other, other, other, other, other)
		d.Machine.ClockNS = 1e6
		if v := decision(t, d); v.Decision != want {
			t.Errorf("%g ms against 10 ms, by a clock with steps of 1 ms: %s, %s; want %s", other, v.Decision, v.Reason, want)
		}
	}
}

// Cycles are merged into one group if fewer of them have too few calls.
func TestTooFewCallsOfAllTrialsAreNotThoseOfOne(t *testing.T) {
	run := func(inTurns bool) result.Document {
		d := runOf(t, 10)
		d.Arms = []result.Arm{{Name: "new"}, {Name: "pool"}}
		for i := range d.Arms {
			for round := range 4 {
				one := trial(t, round+1, 10, 60)
				if inTurns {
					one = inBlocks(t, round+1, 1+2*round, 30, 10, 10)
				}
				d.Arms[i].Trials = append(d.Arms[i].Trials, one)
			}
		}
		d.Baseline = "pool"
		if inTurns {
			d.Design = "interleaved"
		}
		return d
	}
	for inTurns, want := range map[bool]string{false: "a trial of new has 60 calls", true: "all trials of new together have 240 calls"} {
		d := run(inTurns)
		reasons := map[string]string{}
		for _, v := range Assemble(d).Verdicts {
			if v.Metric == "latency_p99" {
				reasons["in the run, "] = "in the run, " + v.Reason
			}
		}
		for _, r := range Compare(d, d, CompareOptions{}).Ratios {
			if r.Metric == "latency_p99" && r.Arm == "new" {
				reasons["in A, "] = r.Reason
			}
		}
		for where, reason := range reasons {
			if !strings.HasPrefix(reason, where+want+"; p99 needs 1000") {
				t.Errorf("in turns %v: %q, want that %s%s", inTurns, reason, where, want)
			}
		}
		if len(reasons) != 2 {
			t.Errorf("in turns %v: the reasons are %q, want those of a run and of two", inTurns, reasons)
		}
	}
}

// The flag is left out if the run sweeps the number of calls.
func TestTooFewCallsNameTheFlagForMore(t *testing.T) {
	for name, c := range map[string]struct {
		load  map[string]any
		quick bool
		cell  result.Cell
		want  string
	}{
		"a burst":     {map[string]any{"burst": 60}, false, nil, "a trial of base has 60 calls; p99 needs 1000, so that ten calls exceed it: make more (--set load.burst=1000)"},
		"a sequence":  {map[string]any{"sequence": 60}, true, nil, ": run it without --quick, or make more (--set load.sequence=1000)"},
		"users":       {map[string]any{"closed": map[string]any{"users": 1, "calls": 60}}, false, nil, ": make more (--set load.closed.calls=1000)"},
		"by the time": {map[string]any{"open": map[string]any{"rate": 5}}, false, nil, ": make more"},
		"a sweep":     {map[string]any{"burst": 60}, false, result.Cell{"load.burst": 60}, ": make more"},
	} {
		d := arms(t, 20, 20, 20, 20)
		d.Quick = c.quick
		for i := range d.Arms {
			d.Arms[i].Config, d.Arms[i].Cell = map[string]any{"load": c.load}, c.cell
		}
		if why := tooFewCalls(metrics[1], d, d.Arms[0]); !strings.HasSuffix(why.text, c.want) {
			t.Errorf("%s: %q, want %q", name, why.text, c.want)
		}
	}
}
