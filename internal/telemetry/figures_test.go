package telemetry

import (
	"math"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

func value(t *testing.T, all []Figure, name string, labels ...Label) float64 {
	t.Helper()
next:
	for _, f := range all {
		if f.Name != name || len(f.Labels) != len(labels) {
			continue
		}
		for i := range labels {
			if f.Labels[i] != labels[i] {
				continue next
			}
		}
		return f.Value
	}
	t.Errorf("there is no %s with %v in %+v", name, labels, all)
	return 0
}

func TestFiguresOfATrial(t *testing.T) {
	t.Parallel()
	trial := experiment.Trial{Arm: "one", Cell: map[string]any{"load.burst": 300}}
	measured := result.Trial{Measures: result.Measures{
		Calls: 90, Dropped: 10, Errors: map[string]uint64{"UNAVAILABLE": 15}, Rate: 45,
		Latency: result.Histogram{Min: 1, Mean: 2, P50: 3, P99: 4000, Max: 5000}, Resources: result.Resources{Client: result.Usage{CPU: 50}},
	}}
	all := OfTrial(lab.Progress{Trial: trial, Ended: &measured})
	arm, cell := Label{"arm", "one"}, Label{"cell", "load.burst=300"}
	for _, c := range []struct {
		name  string
		extra []Label
		want  float64
	}{
		{"calls", nil, 90}, {"failed_calls", nil, 15}, {"dropped_calls", nil, 10}, {"rate", nil, 45}, {"answered_rate", nil, 37.5}, {"lost", nil, 0.25}, {"latency.mean", nil, 0.002},
		{"latency", []Label{{"quantile", "0"}}, 0.001}, {"latency", []Label{{"quantile", "0.99"}}, 4}, {"latency", []Label{{"quantile", "1"}}, 5}, {"client.cpu_per_call", nil, 50e-6},
	} {
		if got := value(t, all, "rpclab.trial."+c.name, append([]Label{arm, cell}, c.extra...)...); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s %v is %v, want %v", c.name, c.extra, got, c.want)
		}
	}
	for _, f := range all {
		if f.Name == "rpclab.trial.service" || f.Name == "rpclab.trial.server.memory" || f.Name == "rpclab.trial.capacity" {
			t.Errorf("%s is not known, but is %v", f.Name, f.Value)
		}
	}
	measured.Failed = "a caller died"
	if all := OfTrial(lab.Progress{Trial: trial, Ended: &measured}); len(all) > 0 {
		t.Errorf("a trial without a measurement has %+v", all)
	}
}

func TestPhaseTimesAddUp(t *testing.T) {
	t.Parallel()
	var times PhaseTimes
	began := time.Unix(0, 0)
	for range 3 {
		times.Add(lab.Phase{Name: lab.PhaseLoad, Trial: experiment.Trial{Arm: "one"}, Began: began, Ended: began.Add(2 * time.Second)})
	}
	times.Add(lab.Phase{Name: lab.PhasePrepare, Began: began, Ended: began.Add(time.Second)})
	all := times.Figures()
	if got := value(t, all, "rpclab.phase.time", Label{"arm", "one"}, Label{"phase", "load"}); got != 6 {
		t.Errorf("loads of one arm took %v s, want 6", got)
	}
	if got := value(t, all, "rpclab.phase.time", Label{"phase", "prepare"}); got != 1 || len(all) != 2 {
		t.Errorf("preparing took %v s, want 1; %+v", got, all)
	}
}
