package lab_test

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

const limited = `
experiment: limited
question: Is other slower?
defaults:
  workload: {greet: {delay: 1ms}}
  server: {replicas: 1}
  route: direct
  caller: {warmup: 1}
  load: {open: {rate: 2e6, duration: 1ms, max_in_flight: 100000}}
arms:
  steady: {}
  other: {workload: {greet: {delay: 2ms}}}
rounds: 4
`

func p50Verdict(t *testing.T, d result.Document) result.Verdict {
	t.Helper()
	for _, v := range d.Verdicts {
		if v.A == "other" && v.Metric == "latency_p50" {
			return v
		}
	}
	t.Fatal("there is no verdict on p50 of other")
	return result.Verdict{}
}

// No caller makes two million calls per second.
func TestARunWhoseBottleneckIsTheLoadGeneratorHasNoVerdict(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, limited, experiment.Options{Seed: 1}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if v := p50Verdict(t, d); v.Decision != "undecided" || !v.Unfit || !strings.Contains(v.Reason, "the load generator was the bottleneck in ") {
		t.Errorf("%s (%.2f), %s", v.Decision, v.Ratio, v.Reason)
	}
}
