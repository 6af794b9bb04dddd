package lab_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/pace/search"
)

// known searches for the capacity of a server with a known one: 20 workers that take 100 ms a call
// answer 200 calls/s. test/e2e shows that the search finds it.
const known = `
experiment: known
question: How many calls does a server of known capacity answer?
defaults:
  workload: {greet: {delay: 100ms, workers: 20}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 10}
  load: {search: {slo: "p99 < 200ms and errors < 0.1%", from: 20, to: 4000, precision: 2%, duration: 5s}}
arms:
  wire: {caller: {kind: wire}}
rounds: 1
`

func TestASearchReportsThatEveryRateHolds(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, known, experiment.Options{Set: []string{
		"load.search.duration=1s", "load.search.to=40", "load.search.slo=p99 < 10s"}}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	trial := arm(t, d, "wire").Trials[0]
	if c := trial.Capacity; c.End != string(search.HighestHolds) || c.Holds != 40 || c.Rate != 0 || trial.Failed != "" || trial.Calls != 40 {
		t.Errorf("%+v, failed %q, %d calls", *c, trial.Failed, trial.Calls)
	}
}

// The answered calls are fast at every rate, so only the dropped ones tell that a rate is too high: ten calls in
// flight that take 100 ms are at most 100 calls/s.
func TestASearchForALatencyAloneDoesNotHoldARateAtWhichCallsAreDropped(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, known, experiment.Options{Set: []string{
		"load.search.slo=p99 < 10s", "load.search.duration=500ms", "load.search.precision=20%", "load.search.max_in_flight=10", "load.search.to=800"}}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	c := arm(t, d, "wire").Trials[0].Capacity
	dropped := false
	for _, p := range c.Probes {
		dropped = dropped || p.Dropped > 0
		if p.Held && p.Dropped*100 > p.Calls+p.Dropped {
			t.Errorf("%.0f calls/s hold a p99 with %d of %d calls dropped: %+v", p.Rate, p.Dropped, p.Calls+p.Dropped, p)
		}
		if lost := p.Latency().Figure("p99"); p.Dropped*100 > p.Calls+p.Dropped && !lost.Lower {
			t.Errorf("the p99 of a probe with %d of %d calls dropped is %g ms, want a lower bound", p.Dropped, p.Calls+p.Dropped, lost.Value)
		}
	}
	if !dropped || c.End == string(search.HighestHolds) || c.Holds > 200 {
		t.Errorf("the search found %+v, want at most 200 calls/s and a probe with dropped calls", *c)
	}
}

func TestAnInterruptKeepsTheProbesOfASearch(t *testing.T) {
	o := options(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p lab.Progress) {
		if strings.HasPrefix(p.Doing, "probe 2 ") {
			cancel()
		}
	}
	d, err := lab.Run(ctx, plan(t, known, experiment.Options{Set: []string{"load.search.duration=2s"}}), o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	trial := arm(t, d, "wire").Trials[0]
	if c := trial.Capacity; len(c.Probes) == 0 || c.End != string(search.Interrupted) || !strings.HasPrefix(trial.Failed, "interrupted after ") {
		t.Errorf("kept %+v, failed %q", *c, trial.Failed)
	}
	stored, _, err := o.Store.Get(t.Context(), d.ID)
	if err != nil || !stored.Partial || len(arm(t, stored, "wire").Trials) != 1 {
		t.Errorf("stored: %+v, %v", stored.Partial, err)
	}
}
