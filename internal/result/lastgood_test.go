package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGatesCompareWithRunsWithoutGatesOfTheSameSettings stores runs one after the other, and asks after each with which of
// them gates compare the next run of the sample's arm.
func TestGatesCompareWithRunsWithoutGatesOfTheSameSettings(t *testing.T) {
	otherArms := func(d *Document) {
		more := d.Arms[0]
		more.Name = "pool"
		d.Arms = append(d.Arms, more)
	}
	otherCells := func(d *Document) { d.Arms[0].Cell = Cell{"load.burst": 300} }
	otherSettings := func(d *Document) {
		d.Arms[0].Config = map[string]any{"route": "clusterip", "server": map[string]any{"cpus": 0.2}}
	}
	otherServer := func(d *Document) { d.Arms[0].OwnService = &Service{Server: ServiceServer{Image: "shop:2"}} }
	otherDesign := func(d *Document) { d.Design = "interleaved" }
	otherEvents := func(d *Document) { d.Changed = []string{"server.replicas=3", "events=[{at: 1s, kill: 1}]"} }
	gated := func(outcome Conditions) func(*Document) {
		return func(d *Document) { d.Conditions, d.Gates = outcome, &Gates{Undecided: "fail"} }
	}
	byBaseline := func(d *Document) {
		otherSettings(d)
		d.Conditions, d.Gates = ConditionsPassed, &Gates{Against: "baseline", Undecided: "fail"}
	}
	asserted := func(outcome Conditions) func(*Document) {
		return func(d *Document) {
			otherSettings(d)
			d.Conditions, d.Assertions = outcome, []Assertion{{Assertion: "p99 < 1s"}}
		}
	}
	type saved struct {
		id   string
		as   func(*Document)
		want string // with which gates compare the next run
	}
	same := func(*Document) {}
	for name, runs := range map[string][]saved{
		"a first baseline by hand": {
			{"of-arms", otherArms, ""}, {"of-cells", otherCells, ""}, {"of-settings", otherSettings, "of-settings"},
			{"by-hand", same, "by-hand"}, {"later", otherServer, "by-hand"},
		},
		"runs by hand after one with gates": {
			{"gated", gated(ConditionsPassed), "gated"}, {"of-arms", otherArms, "gated"}, {"of-settings", otherSettings, "gated"},
			{"of-server", otherServer, "gated"}, {"of-design", otherDesign, "gated"}, {"of-events", otherEvents, "gated"},
			{"of-baseline", byBaseline, "gated"}, {"asserted", asserted(ConditionsPassed), "gated"}, {"by-hand", same, "by-hand"},
		},
		"a night without gates": {
			{"gated", gated(ConditionsPassed), "gated"}, {"slow", gated(ConditionsFailed), "gated"}, {"by-hand", same, "by-hand"},
		},
		"a run that measured nothing": {
			{"by-hand", same, "by-hand"}, {"nothing", func(d *Document) { d.Arms[0].Measures = Measures{} }, "by-hand"},
		},
		"accepted runs": {
			{"gated", gated(ConditionsPassed), "gated"}, {"accepted", asserted(ConditionsAccepted), "accepted"},
			{"slow", gated(ConditionsFailed), "accepted"},
		},
		"gates of other settings": {
			{"gated", gated(ConditionsPassed), "gated"},
			{"changed", func(d *Document) { otherSettings(d); gated(ConditionsPassed)(d) }, "changed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			for i, run := range runs {
				d := sampleDocument(t)
				d.ID, d.Started = run.id, start.Add(time.Duration(i)*time.Minute)
				run.as(&d)
				must(t, s.Save(t.Context(), d))
				next := sampleDocument(t)
				next.Changed = []string{"server.replicas=3"}
				if got, err := s.LastGood(t.Context(), next); got != run.want || err != nil {
					t.Errorf("after the run %s, gates compare with %q (%v), want %q", run.id, got, err, run.want)
				}
			}
		})
	}
}

// Without the run with gates, nothing would show that gates need the run by hand.
func TestRunsByHandDoNotReplaceTheRunThatGatesNeed(t *testing.T) {
	s := openStore(t, t.TempDir())
	for i, id := range []string{"gated", "same", "other", "elsewhere"} {
		d := sampleDocument(t)
		d.ID, d.Started = id, start.Add(time.Duration(i)*time.Minute)
		switch id {
		case "gated":
			d.Conditions, d.Gates = ConditionsPassed, &Gates{Undecided: "fail"}
		case "other":
			d.Arms[0].Config = map[string]any{"route": "headless"}
		case "elsewhere":
			d.Experiment = "churn"
		}
		must(t, s.Save(t.Context(), d))
		needed, err := s.NeededByGates(t.Context())
		want := map[string]bool{"gated": true, "same": true}
		if id == "gated" {
			want = map[string]bool{"gated": true}
		}
		if diff := cmp.Diff(want, needed); diff != "" || err != nil {
			t.Errorf("after the run %s (%v), gates need: %s", id, err, diff)
		}
	}
}
