package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// searched is a run of two arms with the capacity of each round; 0: none.
func searched(a, b []float64) result.Document {
	d := result.Document{Schema: result.Schema, Baseline: "b", Rounds: len(a), Seed: 1}
	for name, rates := range map[string][]float64{"a": a, "b": b} {
		arm := result.Arm{Name: name}
		for i, rate := range rates {
			arm.Trials = append(arm.Trials, result.Trial{Round: i + 1, Capacity: &result.Capacity{Rate: rate, Holds: rate * 0.99}})
		}
		d.Arms = append(d.Arms, arm)
	}
	slices.SortFunc(d.Arms, func(a, b result.Arm) int { return strings.Compare(a.Name, b.Name) })
	return Assemble(d)
}

func TestSearchesAreComparedByCapacityAndNotByLatency(t *testing.T) {
	d := searched([]float64{200, 202, 199, 201, 200, 198}, []float64{100, 101, 99, 100, 100, 100})
	if len(d.Verdicts) == 0 || slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool {
		return strings.HasPrefix(v.Metric, "latency") || v.Metric == "rate"
	}) {
		t.Fatalf("verdicts %+v, want one on capacity, since latencies are of different rates", d.Verdicts)
	}
	v := d.Verdicts[0]
	if v.Metric != "capacity" || v.Secondary || v.Decision != "better" || v.Ratio < 1.95 || v.Ratio > 2.05 || v.Level > 0.9501 || v.Level < 0.9499 {
		t.Errorf("the verdict is %+v, want capacity: better, 2 times, at a level of 0.95", v)
	}
	if c := d.Arms[0].Capacity; c.Count != 6 || c.Low != 198 || c.High != 202 || c.Rate < 199.9 || c.Rate > 200.1 {
		t.Errorf("the capacity is %+v, want 200 (198 to 202) of 6 rounds", *c)
	}
}

// The latency that an arm has at its own capacity says nothing about the other arm.
func TestGatesOnSearchesAreOnCapacity(t *testing.T) {
	d := searched([]float64{200, 202, 199, 201, 200, 198}, []float64{100, 101, 99, 100, 100, 100})
	for _, arm := range d.Arms {
		for i, capacity := range arm.Trials {
			arm.Trials[i] = trial(t, i+1, 10, 1000, 1000)
			arm.Trials[i].Capacity, arm.Trials[i].Rate = capacity.Capacity, capacity.Capacity.Rate
		}
	}
	d = Assemble(d)
	all := gates(t, "p50 ratio < 9", "rate ratio > 0.1", "capacity ratio > 0.9")
	for name, got := range map[string][]result.GateResult{
		"arms of a run": GateArms(d, all),
		"two runs":      Compare(d, d, CompareOptions{Gates: all}).Gates[:len(all)],
	} {
		for i, g := range got {
			open := strings.Contains(g.Reason, "compare capacity")
			if want := i < 2; open != want || (g.Outcome == string(verdict.Held)) == want {
				t.Errorf("%s: the gate is %+v, want only that on capacity to hold", name, g)
			}
		}
	}
}

// One search that a stall misled does not move the capacity of an arm.
func TestTheCapacityOfAnArmIsTheMedianOfItsRounds(t *testing.T) {
	d := searched([]float64{200, 202, 20, 201, 198}, []float64{100, 101, 99, 100, 100})
	if c := d.Arms[0].Capacity; c.Rate != 200 || c.Low != 20 {
		t.Errorf("the capacity is %+v, want the median 200", *c)
	}
}

// The rounds before an interrupt are complete, so they decide as they would without it.
func TestAnInterruptedSearchIsNoFailedRound(t *testing.T) {
	d := searched([]float64{200, 202, 199, 201, 200, 198}, []float64{100, 101, 99, 100, 100, 0})
	last := &d.Arms[1].Trials[5]
	last.Failed, last.Capacity.End = "interrupted after 3 probes", string(search.Interrupted)
	d.Partial = true
	if v := Assemble(d).Verdicts[0]; v.Decision != "better" || v.Rounds != 5 || v.Unfit {
		t.Errorf("the verdict is %+v, want better in the 5 complete rounds", v)
	}
}

// A round in which not even the lowest rate held has a lower capacity than the others.
func TestTheMedianCapacityCountsRoundsWithoutARate(t *testing.T) {
	for missed, want := range []float64{2005, 1990, 0, 0, 0} {
		d := searched([]float64{2020, 2010, 2000, 1980}, []float64{1, 1, 1, 1})
		for i := range missed {
			c := d.Arms[0].Trials[i].Capacity
			c.Rate, c.Holds, c.End = 0, 0, string(search.LowestFails)
			d.Arms[0].Trials[i].Failed = "no rate was found"
		}
		if c := Assemble(d).Arms[0].Capacity; c.Rate != want || c.Count != 4-missed {
			t.Errorf("with %d of 4 rounds without a rate the capacity is %+v, want %g", missed, *c, want)
		}
	}
}

// A round in which even the highest rate holds has a higher capacity than the others.
func TestTheMedianCapacityCountsRoundsWithoutALimit(t *testing.T) {
	for above, want := range []float64{1990, 1990, 0, 0, 0} {
		d := searched([]float64{2020, 2000, 1980, 1970}, []float64{1, 1, 1, 1})
		for i := range above {
			c := d.Arms[0].Trials[i].Capacity
			c.Rate, c.Holds, c.End = 0, 2100, string(search.HighestHolds)
		}
		d = Assemble(d)
		if c := d.Arms[0].Capacity; c.Rate != want || c.Count != 4-above {
			t.Errorf("with %d of 4 rounds without a limit the capacity is %+v, want %g", above, *c, want)
		}
		if r := ratioOf(t, Compare(onlyArm(d, 0), onlyArm(d, 0), CompareOptions{}), "capacity"); r.A != want {
			t.Errorf("with %d of 4 rounds without a limit the capacity in a comparison is %g, want %g", above, r.A, want)
		}
	}
}

func TestASearchWithoutAnEstimateIsUndecided(t *testing.T) {
	d := searched([]float64{200, 202, 0, 201, 200, 198}, []float64{100, 101, 99, 100, 100, 100})
	if v := d.Verdicts[0]; v.Decision != "undecided" || v.Reason == "" {
		t.Errorf("the verdict is %+v, want undecided with a reason", v)
	}
	if c := d.Arms[0].Capacity; c.Count != 5 {
		t.Errorf("the capacity is %+v, want that of 5 rounds", *c)
	}
}

func TestASearchWithoutACapacitySaysWhichRateToChange(t *testing.T) {
	for want, change := range map[string]func(*result.Trial){
		"in 2 of 4 rounds of a even the highest rate, 100/s, holds, so the capacity is not known: raise load.search.to (rpclab load: --search-to)": func(t *result.Trial) {
			t.Capacity.Holds, t.Capacity.End = 100, string(search.HighestHolds)
		},
		"in 2 of 4 rounds of a the probes found no rate that fails, so the capacity is not known: make load.search.duration longer (rpclab load: --duration)": func(t *result.Trial) {
			t.Capacity.Holds, t.Capacity.End = 90, string(search.OutOfProbes)
		},
		"in 2 of 4 rounds of a not even the lowest rate, 50/s, holds: lower load.search.from (rpclab load: --search-from), or ask for less": func(t *result.Trial) {
			*t = SummarizeSearch(*t, result.Capacity{End: string(search.LowestFails), Probes: []result.Probe{{Rate: 50, Full: true}}})
		},
	} {
		d := searched([]float64{200, 0, 202, 0}, []float64{100, 101, 99, 100})
		for _, i := range []int{1, 3} {
			change(&d.Arms[0].Trials[i])
		}
		v := Assemble(d).Verdicts[0]
		if v.Decision != "undecided" || !v.Unfit || v.Reason != want || v.Cause == nil || v.Cause.Arm != "a" {
			t.Errorf("the verdict is %s, %q, with the cause %+v; want %q", v.Decision, v.Reason, v.Cause, want)
		}
		before, after := d, d
		before.Arms, after.Arms = d.Arms[:1], d.Arms[:1]
		if r := ratioOf(t, Compare(before, after, CompareOptions{}), "capacity"); r.Reason != "in A, "+want {
			t.Errorf("of two runs the reason is %q, want %q", r.Reason, want)
		}
	}
}

// A search cancels the calls of a probe after its duration, at the latest. That such a call would have taken its whole
// timeout is not known.
func TestALostCallOfAProbeCountsAsTheTimeThatTheProbeGaveIt(t *testing.T) {
	for duration, want := range map[time.Duration]float64{5 * time.Second: 5e3, time.Minute: 20e3} {
		recorder := measure.NewRecorder(0)
		recorder.Record(measure.Call{Done: duration, Code: "CANCELLED", Name: "get"})
		recorder.Drop(0, "get")
		seen, err := recorder.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		record := Record{Merged: seen, Callers: []CallerRecord{{"a", seen}, {"b", seen}}}
		record.Config.Caller.Timeout = 20 * time.Second
		record.Config.Load.Search = &experiment.Search{Duration: duration}
		got := record.Summarize(result.Trial{})
		for what, latency := range map[string]result.Histogram{"all": got.Latency, "by name": got.ByName["get"].Latency, "of a caller": got.Callers[1].Latency} {
			if off := latency.P50 / want; off < 0.999 || off > 1.001 || latency.Lost != 1 {
				t.Errorf("probes of %v: the p50 (%s) is %g ms with %g of the calls lost, want at least %g ms with all", duration, what, latency.P50, latency.Lost, want)
			}
		}
	}
}
