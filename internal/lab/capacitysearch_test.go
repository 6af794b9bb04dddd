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
