package lab_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// known is about a server whose capacity is known: 20 workers that take 100 ms a call
// answer 200 a second. test/e2e proves that it is found.
const known = `
experiment: known
question: How much does a server of known capacity take?
defaults:
  workload: {greet: {delay: 100ms, workers: 20}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 10}
  load: {search: {slo: "p99 < 200ms and errors < 0.1%", from: 20, to: 4000, precision: 2%, duration: 5s}}
arms:
  grpc-go: {}
  wire: {caller: {kind: wire}}
rounds: 1
`

// disturbed says that the machine was too busy to measure: calls left late while the
// servers were idle.
func disturbed(c result.Capacity) bool {
	for _, p := range c.Probes {
		if p.Full && !p.Held && p.Lateness > 20 {
			return true
		}
	}
	return false
}

func TestAnOverloadEndsWithItsProbe(t *testing.T) {
	for _, name := range []string{"grpc-go", "wire"} {
		began := time.Now()
		d, err := lab.Run(t.Context(), plan(t, known, experiment.Options{Arms: []string{name}, Set: []string{
			"load.search.duration=400ms", "load.search.from=2000", "load.search.slo=errors == 0 and dropped == 0"}}), options(t))
		if err != nil {
			t.Fatal(err)
		}
		// At the lowest rate 200 calls are due in 100 ms, which the server would take a second
		// for: half get an answer in time, and there is no rate that holds.
		trial := arm(t, d, name).Trials[0]
		probes := trial.Capacity.Probes
		if len(probes) != 3 || trial.Capacity.End != string(search.LowestFails) {
			t.Fatalf("%s: %+v", name, *trial.Capacity)
		}
		if p := probes[1]; p.Rate != 2000 || p.Full || p.Calls != 200 || p.Errors < 20 {
			t.Errorf("%s: the short probe at the lowest rate is %+v", name, p)
		}
		if !strings.Contains(trial.Failed, "not even 2000/s, the lowest; lower load.search.from") {
			t.Errorf("%s failed for %q", name, trial.Failed)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// With 5 calls in flight that take 100 ms each, 50 a second is all that is not dropped,
// and less on a machine that is held up.
func TestCallsThatAreDroppedCountAsErrors(t *testing.T) {
	for range 3 {
		d, err := lab.Run(t.Context(), plan(t, known, experiment.Options{Arms: []string{"wire"}, Set: []string{
			"load.search.max_in_flight=5", "load.search.slo=errors < 1%", "load.search.duration=500ms", "load.search.precision=5%"}}), options(t))
		if err != nil {
			t.Fatal(err)
		}
		c := *arm(t, d, "wire").Trials[0].Capacity
		if c.Rate > 25 && c.Rate < 54 {
			return
		}
		if !disturbed(c) {
			t.Fatalf("%+v", c)
		}
	}
	t.Fatal("three searches were disturbed: the machine is too busy")
}

func TestASearchInWhichEveryRateHoldsSaysSo(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, known, experiment.Options{Arms: []string{"wire"}, Set: []string{
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
	d, err := lab.Run(ctx, plan(t, known, experiment.Options{Arms: []string{"wire"}, Set: []string{"load.search.duration=2s"}}), o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	trial := arm(t, d, "wire").Trials[0]
	if c := trial.Capacity; len(c.Probes) == 0 || c.End != "interrupted" || !strings.HasPrefix(trial.Failed, "interrupted after ") {
		t.Errorf("kept %+v, failed %q", *c, trial.Failed)
	}
	stored, _, err := o.Store.Get(t.Context(), d.ID)
	if err != nil || !stored.Partial || len(arm(t, stored, "wire").Trials) != 1 {
		t.Errorf("stored: %+v, %v", stored.Partial, err)
	}
}
