package lab_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// Runs with real servers that something spoils on purpose.

const spoiled = `
experiment: spoiled
question: Is other slower?
defaults:
  workload: {greet: {delay: 300ms}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 5}
  load: {burst: 40}
arms:
  steady: {}
  other: {workload: {greet: {delay: 400ms}}}
rounds: 8
`

// recovering makes the servers that are told to wait for 1.2 s a little faster each
// time that they are deployed, as a machine that cools down would.
type recovering struct {
	cluster.Cluster
	deployed time.Duration
}

func (r *recovering) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if i := slices.Index(spec.Args, "1.2s"); i >= 0 {
		spec.Args = slices.Clone(spec.Args)
		spec.Args[i] = (1200*time.Millisecond - r.deployed*30*time.Millisecond).String()
		r.deployed++
	}
	return r.Cluster.Deploy(ctx, spec)
}

func onMedian(t *testing.T, d result.Document) result.Verdict {
	t.Helper()
	for _, v := range d.Verdicts {
		if v.A == "other" && v.Metric == "latency_p50" {
			return v
		}
	}
	t.Fatal("there is no verdict on other")
	return result.Verdict{}
}

// TestARunThatDriftsDecidesNothing: other begins a third slower and ends a tenth
// slower; as many rounds more would make it the faster one.
func TestARunThatDriftsDecidesNothing(t *testing.T) {
	o := options(t)
	o.Cluster = &recovering{Cluster: o.Cluster}
	// Long calls: what a busy machine adds to one must not hide a thirtieth of it.
	long := strings.NewReplacer("300ms", "900ms", "400ms", "1200ms").Replace(spoiled)
	d, err := lab.Run(t.Context(), plan(t, long, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	if v := onMedian(t, d); v.Decision != "undecided" || !strings.HasPrefix(v.Reason, "drift: the ratio fell") {
		t.Errorf("%s (%.2f), %s", v.Decision, v.Ratio, v.Reason)
	}
}

// TestARunThatItsGeneratorLimitsDecidesNothing: no caller here makes ten million calls a
// second.
func TestARunThatItsGeneratorLimitsDecidesNothing(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, spoiled, experiment.Options{Seed: 1, Rounds: 4, Set: []string{
		"load={open: {rate: 1e7, duration: 2ms, max_in_flight: 100000}}"}}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if v := onMedian(t, d); v.Decision != "undecided" || !v.Unfit || !strings.Contains(v.Reason, "was limited by the generator: ") {
		t.Errorf("%s (%.2f), %s", v.Decision, v.Ratio, v.Reason)
	}
}
