package lab

import (
	"testing"

	"rpclab/internal/experiment"
)

// A document without verdicts is decided, so only the look determines whether its run ends.
func TestARunEndsEarlyOnlyAtALook(t *testing.T) {
	trials := make([]experiment.Trial, 12)
	for i := range trials {
		trials[i] = experiment.Trial{Order: i, Round: i/2 + 1}
	}
	for name, c := range map[string]struct {
		after int
		want  bool
	}{"a look": {7, true}, "half a round": {6, false}, "no look": {9, false}, "the last look": {11, false}} {
		r := &run{plan: Plan{Plan: experiment.Plan{Looks: []int{4, 6}, Trials: trials}}}
		if got := r.decided(trial{Trial: trials[c.after]}); got != c.want {
			t.Errorf("%s: decided is %t", name, got)
		}
		if c.want && (r.doc.Rounds != 4 || r.doc.TrialCount != 8) {
			t.Errorf("%s: %d rounds, %d trials", name, r.doc.Rounds, r.doc.TrialCount)
		}
	}
}
