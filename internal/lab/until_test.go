package lab_test

import (
	"slices"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

const untilDecided = `
experiment: until
question: Is 5 ms faster than 40 ms?
defaults:
  server: {replicas: 1, fresh: false}
  route: direct
  caller: {warmup: 10}
  load: {sequence: 30}
arms:
  fast: {workload: {greet: {delay: 5ms}}}
  slow: {workload: {greet: {delay: 40ms}}}
rounds: 1
`

// The first look is after four of nine rounds and may use half of the error. The p99 of 30 calls cannot
// be decided, and the run does not wait for it.
func TestARunUntilDecidedEndsAtTheFirstLookThatDecides(t *testing.T) {
	d, err := lab.Run(t.Context(), plan(t, untilDecided, experiment.Options{Seed: 1, UntilDecided: true, MaxRounds: 9}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if d.Partial || d.Rounds != 4 || d.TrialCount != 8 || !slices.Equal(d.Looks, []int{4, 9}) || d.Ended != result.EndedDecided {
		t.Errorf("partial %t, %d rounds, %d trials, looks %v, ended by %s", d.Partial, d.Rounds, d.TrialCount, d.Looks, d.Ended)
	}
	for _, v := range d.Verdicts {
		if v.Secondary {
			continue
		}
		switch {
		case v.Metric == "latency_p50" && v.Decision != "worse":
			t.Errorf("p50 of %s against %s: %s, %s", v.A, v.B, v.Decision, v.Reason)
		case v.Metric == "latency_p99" && (v.Decision != "undecided" || !v.Unfit):
			t.Errorf("p99 of 30 calls: %s, %s", v.Decision, v.Reason)
		}
		if want := 1 - 0.05/2; v.Level < want-1e-9 || v.Level > want+1e-9 {
			t.Errorf("%s has the level %.4f; the pair has half of the error at the first look, want %.4f", v.Metric, v.Level, want)
		}
	}
}
