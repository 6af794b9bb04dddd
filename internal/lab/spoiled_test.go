package lab_test

import (
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

// A run with real servers that something spoils on purpose.

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

// TestARunThatItsGeneratorLimitsDecidesNothing: no caller here makes ten million calls a
// second.
func TestARunThatItsGeneratorLimitsDecidesNothing(t *testing.T) {
	short := strings.NewReplacer("300ms", "30ms", "400ms", "40ms", "warmup: 5", "warmup: 1").Replace(spoiled)
	d, err := lab.Run(t.Context(), plan(t, short, experiment.Options{Seed: 1, Rounds: 4, Set: []string{
		"load={open: {rate: 1e7, duration: 1ms, max_in_flight: 100000}}"}}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if v := onMedian(t, d); v.Decision != "undecided" || !v.Unfit || !strings.Contains(v.Reason, "was limited by the load generator: ") {
		t.Errorf("%s (%.2f), %s", v.Decision, v.Ratio, v.Reason)
	}
}
