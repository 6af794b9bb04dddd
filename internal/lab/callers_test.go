package lab_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

const shared = `
experiment: shared
question: Do four callers make the same load as one caller?
defaults:
  workload: {greet: {delay: 5ms}}
  server: {replicas: 3}
  route: endpointslice
  callers: 4
  caller: {warmup: 3}
arms:
  burst: {load: {burst: 63}}
  users: {load: {closed: {users: 6, calls: 101}}}
  rate: {load: {open: {rate: 501, duration: 400ms}}}
rounds: 1
`

func TestCallersShareALoad(t *testing.T) {
	t.Parallel()
	d, err := lab.Run(t.Context(), plan(t, shared, experiment.Options{Seed: 1}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]uint64{"burst": {16, 16, 16, 15}, "users": {33, 34, 17, 17}, "rate": {51, 50, 50, 50}} {
		trial := arm(t, d, name).Trials[0]
		if trial.Failed != "" || len(trial.Callers) != 4 {
			t.Errorf("%s: %d callers, failed %q", name, len(trial.Callers), trial.Failed)
			continue
		}
		var calls uint64
		var latencies []result.Histogram
		backends := map[string]uint64{}
		for i, c := range trial.Callers {
			if c.Calls != want[i] || c.Resources.CPU <= 0 || c.Resources.RSS == 0 {
				t.Errorf("%s: %s made %d calls with %+v, want %d", name, c.Name, c.Calls, c.Resources, want[i])
			}
			calls += c.Calls
			latencies = append(latencies, c.Latency)
			for id, n := range c.Backends {
				backends[id] += n
			}
		}
		merged, err := result.Merge(latencies)
		if err != nil {
			t.Fatal(err)
		}
		if calls != trial.Calls || merged != trial.Latency {
			t.Errorf("%s: callers made %d calls of %d; merged latency %+v, want %+v", name, calls, trial.Calls, merged, trial.Latency)
		}
		for id, n := range trial.Backends {
			if backends[id] != n {
				t.Errorf("%s: %s answered %d calls of callers and %d of the trial", name, id, backends[id], n)
			}
		}
	}
}

// firstCallers is a cluster that stores the callers of the first trial.
type firstCallers struct {
	cluster.Cluster
	first atomic.Pointer[[]cluster.Caller]
}

func (c *firstCallers) StartCallers(ctx context.Context, spec cluster.CallerSpec) ([]cluster.Caller, error) {
	processes, err := c.Cluster.StartCallers(ctx, spec)
	c.first.CompareAndSwap(nil, &processes)
	return processes, err
}

var death = regexp.MustCompile(`^caller 2 of 4 \(caller-1\) died \d+\.\d s into the load: signal: killed`)

func TestACallerThatIsKilledFailsItsTrialAndNotTheRun(t *testing.T) {
	t.Parallel()
	o := options(t)
	c := &firstCallers{Cluster: o.Cluster}
	o.Cluster = c
	killed := false
	o.Progress = func(p lab.Progress) {
		if p.Live != nil && !killed { // a load is in progress
			killed = true
			(*c.first.Load())[1].Kill()
		}
	}
	d, err := lab.Run(t.Context(), plan(t, shared, experiment.Options{Arms: []string{"rate"}, Rounds: 2, Set: []string{"load={open: {rate: 501, duration: 3s}}"}}), o)
	if err != nil {
		t.Fatal(err)
	}
	trials := arm(t, d, "rate").Trials
	if len(trials) != 2 || !death.MatchString(trials[0].Failed) {
		t.Fatalf("%d trials, the first failed for %q", len(trials), trials[0].Failed)
	}
	if trials[1].Failed != "" || trials[1].Calls != 1503 {
		t.Errorf("the next trial: %d calls, failed %q", trials[1].Calls, trials[1].Failed)
	}
	if !strings.Contains(strings.Join(d.Warnings, "\n"), "gave no measurement: caller 2 of 4") {
		t.Errorf("warnings are %q", d.Warnings)
	}
}
