package analysis

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// What is not known in a trial is not 0.
func TestAnArmLeavesOutWhatIsNotKnown(t *testing.T) {
	arm := result.Arm{Name: "a"}
	for round := 1; round <= 5; round++ {
		one := trial(t, round, 10, 1000)
		one.Resources.Proxy, one.Wasted = result.Usage{CPU: 200, RSS: 1}, new(uint64(100))
		if round == 3 {
			one.Resources.Proxy, one.Wasted = result.Usage{}, nil
		}
		arm.Trials = append(arm.Trials, one)
	}
	if err := mergeTrials(&arm); err != nil {
		t.Fatal(err)
	}
	if cpu := arm.Resources.Proxy.CPU; cpu != 200 {
		t.Errorf("the proxies took %g µs a call, want the 200 of the four trials that know it", cpu)
	}
	if arm.Wasted != nil {
		t.Errorf("%d calls were wasted, want that it is not known", *arm.Wasted)
	}
	arm.Trials[2].Wasted = new(uint64(0))
	if err := mergeTrials(&arm); err != nil || arm.Wasted == nil || *arm.Wasted != 400 {
		t.Errorf("the wasted calls are %v (%v), want 400", arm.Wasted, err)
	}
}

// More cycles make larger groups, so a p99 of groups with too few calls does not end a run.
func TestARunContinuesForLargerGroups(t *testing.T) {
	arm := func(name string, latency float64) result.Arm {
		var all []float64
		for i := range 8 {
			all = append(all, latency*(1+0.001*float64(i%3)))
		}
		return result.Arm{Name: name, Trials: []result.Trial{inBlocks(t, 1, 1, 50, all...)}}
	}
	d := result.Document{Baseline: "b", Margin: 0.03, Design: "interleaved", Rounds: 1, Looks: []int{1, 2}, Headline: []string{"latency_p50", "latency_p99"},
		Arms: []result.Arm{arm("a", 20), arm("b", 10)}}
	if v := p50(t, Assemble(d)); v.Decision != "worse" {
		t.Fatalf("p50 is %+v, want worse", v)
	}
	if Decided(d) {
		t.Error("the run is decided, although its p99 has one group of 400 calls")
	}
}

// answeredBy is the record of a load of three backends, each of which answered 10 calls of 12. backends name them in the
// responses.
func answeredBy(backends ...string) Record {
	r := Record{
		CallsBackends: true, Callers: []CallerRecord{{}}, CallsStarted: map[string]uint64{"b0": 12, "b1": 12, "b2": 12},
		Merged: measure.Measurement{
			Started: began, Elapsed: 4 * time.Second, Calls: 30, Backends: map[string]uint64{}, Timeline: measure.Timeline{Backends: map[string][]uint64{}},
		},
		Events:    []PerformedEvent{{Event: experiment.Event{Kill: 1}, Time: after(time.Second)}},
		Endpoints: []cluster.Snapshot{set(after(-time.Second), "b0", "b1", "b2")},
	}
	for _, name := range backends {
		r.Merged.Backends[name], r.Merged.Timeline.Backends[name] = 10, line(0, 4*time.Second, 1)
	}
	return r
}

// Calls that backends started cannot be compared with calls that were answered under other names.
func TestWastedCallsAreNotKnownWithoutTheBackendsThatAnswered(t *testing.T) {
	known := answeredBy("b0", "b1", "b2").Summarize(result.Trial{})
	if known.Wasted == nil || *known.Wasted != 6 {
		t.Fatalf("%v calls are wasted, want 6", known.Wasted)
	}
	ownNames, unknown := answeredBy("pod-x", "pod-y", "pod-z"), answeredBy()
	ownNames.OwnNames, unknown.BackendsUnknown = true, true
	for name, r := range map[string]Record{"own names": ownNames, "no names": unknown} {
		if trial := r.Summarize(result.Trial{}); trial.Wasted != nil {
			t.Errorf("%s: %d calls are wasted, want not known", name, *trial.Wasted)
		}
	}
}

func TestBackendsWithOwnNamesAreBalancedDuringEvents(t *testing.T) {
	r := answeredBy("pod-x", "pod-y", "pod-z")
	r.OwnNames = true
	trial := r.Summarize(result.Trial{})
	if !slices.Equal(slices.Concat(trial.Groups...), []uint64{10, 10, 10}) || trial.Balance.Jain != 1 || trial.Balance.MaxOverMean != 1 {
		t.Errorf("groups %v, balance %+v; want one of 10 calls each, which is even", trial.Groups, trial.Balance)
	}
}

// A backend that answers no call names itself to nobody. It is uneven all the same.
func TestBackendsWithOwnNamesThatAnswerNoCallCountInTheBalance(t *testing.T) {
	r := answeredBy("pod-x")
	r.OwnNames = true
	if trial := r.Summarize(result.Trial{}); !slices.Equal(slices.Concat(trial.Groups...), []uint64{10}) {
		t.Errorf("groups %v with an event, want one of 10 calls", trial.Groups)
	}
	r.Events = nil
	trial := r.Summarize(result.Trial{})
	if !slices.Equal(slices.Concat(trial.Groups...), []uint64{0, 0, 10}) || trial.Balance.MaxOverMean != 3 {
		t.Errorf("groups %v, balance %+v; want one of 0, 0 and 10 calls, the busiest with 3 times its fair share", trial.Groups, trial.Balance)
	}
	if got, refused := evenness(trial), noBalance(metric{name: "balance"}, result.Document{}, result.Arm{Trials: []result.Trial{trial}}); math.Abs(got-1.0/3) > 1e-9 || refused.text != "" {
		t.Errorf("the balance is %v, and not compared because %q; want 1/3", got, refused.text)
	}
	if len(trial.Backends) != 1 || trial.Backends["pod-x"] != 10 {
		t.Errorf("calls by backend %v, want those of pod-x", trial.Backends)
	}
}

func TestTheBalanceOfUnknownBackendsIsNotKnown(t *testing.T) {
	r := answeredBy()
	r.BackendsUnknown = true
	trial := r.Summarize(result.Trial{})
	arm := result.Arm{Name: "a", Trials: []result.Trial{trial}}
	if err := mergeTrials(&arm); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{"trial": trial, "arm": arm} {
		text, err := json.Marshal(value)
		if err != nil || !strings.Contains(string(text), `"balance":null`) || strings.Contains(string(text), `"jain"`) {
			t.Errorf("%s: %s (%v), want the balance null", name, text, err)
		}
	}
}
