package analysis

import (
	"math"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// threeArms has arms whose elapsed times are 1000, 600 and 500 ms, with a drift.
func threeArms(rounds int) result.Document {
	d := result.Document{Baseline: "shared", Arms: []result.Arm{{Name: "new"}, {Name: "pool"}, {Name: "shared"}},
		Confounds: []result.Confound{{Published: "new", Controlled: "pool", What: "connects"}}}
	for i, elapsed := range []float64{1000, 600, 500} {
		d.Arms[i].Config = map[string]any{"load": map[string]any{"burst": 100}}
		for round := 1; round <= rounds; round++ {
			d.Arms[i].Trials = append(d.Arms[i].Trials, result.Trial{Round: round, Measures: result.Measures{
				Calls: 100, ElapsedMS: elapsed * (1 + float64((round*7+i*3)%5)/1000),
				Latency: result.Histogram{P50: elapsed / 10},
			}})
		}
	}
	return d
}

func TestAnAccountHasTheShareOfThePublishedGapThatRemains(t *testing.T) {
	d := threeArms(5)
	a := accounts(d)
	if len(a) != 1 || a[0].Metric != "elapsed" || math.Abs(a[0].Remains-0.2) > 0.01 || math.Abs(a[0].GapMS-500) > 5 ||
		a[0].CI[0] > 0.2 || a[0].CI[1] < 0.2 || a[0].Reason != "" {
		t.Errorf("the accounts are %+v, want one on elapsed: 0.2 of a gap of 500 ms remains", a)
	}
	for i := range d.Arms {
		d.Arms[i].Config = map[string]any{"load": map[string]any{"open": map[string]any{}}}
	}
	if a := accounts(d); a[0].Metric != "latency_p50" {
		t.Errorf("the metric of a load with a duration is %s, want latency_p50", a[0].Metric)
	}
}

// A controlled arm that is compared with another arm has its gap to that arm.
func TestAnAccountHasTheBaselineOfEachArm(t *testing.T) {
	d := threeArms(5)
	d.Baseline = "other"
	d.Arms[0].Against = "shared"
	other := threeArms(5).Arms[1]
	other.Name = "other"
	for i := range other.Trials {
		other.Trials[i].ElapsedMS -= 250
	}
	d.Arms = append(d.Arms, other)
	a := accounts(d)
	if len(a) != 1 || a[0].Baseline != "shared" || a[0].ControlledBaseline != "other" || math.Abs(a[0].Remains-0.5) > 0.01 || math.Abs(a[0].GapMS-500) > 5 {
		t.Errorf("the accounts are %+v, want one: 250 ms of a gap of 500 ms remain", a)
	}
}

// An interrupted run has a round that only some arms have.
func TestAnAccountLeavesOutARoundThatTheRunDidNotFinish(t *testing.T) {
	for last := range 3 {
		d := threeArms(5)
		for i := range last + 1 {
			d.Arms[i].Trials = threeArms(6).Arms[i].Trials
		}
		if a := accounts(d); len(a) != 1 || a[0].Reason != "" || math.Abs(a[0].Remains-0.2) > 0.01 {
			t.Errorf("with %d arms in the last round the accounts are %+v, want one over 5 rounds", last+1, a)
		}
	}
}

func TestAnAccountOfUnfitArmsHasAReason(t *testing.T) {
	for want, spoil := range map[string]func(*result.Document){
		"the load generator was the bottleneck": func(d *result.Document) { d.Arms[1].Limited = "late" },
		"50.0 % of the calls of new failed":     func(d *result.Document) { d.Arms[0].Calls, d.Arms[0].Dropped = 1, 1 },
		"throttled": func(d *result.Document) {
			for i := range d.Arms[1].Trials {
				d.Arms[1].Trials[i].Machine = &result.Interference{Throttled: 0.2}
			}
		},
		"60.0 % of the calls of pool were lost, so its latency is only known to be longer": func(d *result.Document) {
			for i := range d.Arms {
				d.Arms[i].Config = map[string]any{"load": map[string]any{"open": map[string]any{}}}
			}
			d.Arms[1].Calls, d.Arms[1].Dropped, d.Arms[1].Latency.Lost = 40, 60, 0.6
			for i := range d.Arms[1].Trials {
				d.Arms[1].Trials[i].Latency.Lost = 0.6
			}
		},
		"no measurement": func(d *result.Document) { d.Arms[2].Trials[1].Failed = "died" },
		"3 rounds":       func(d *result.Document) { *d = threeArms(3) },
	} {
		d := threeArms(5)
		spoil(&d)
		if a := accounts(d); len(a) != 1 || !strings.Contains(a[0].Reason, want) || a[0].CI != [2]float64{} {
			t.Errorf("the accounts are %+v, want one without an interval for the reason %q", a, want)
		}
	}
	if d := threeArms(5); len(accounts(result.Document{Baseline: "new", Arms: d.Arms, Confounds: d.Confounds})) != 0 {
		t.Error("a confound of the baseline has an account, want none")
	}
}
