package kube

import (
	"slices"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// drained runs testdata/drain.yaml with a PodDisruptionBudget that permits to evict one of the three backends at a
// time, and checks that the budget held and that no call failed.
func drained(t *testing.T, args ...string) result.Document {
	t.Helper()
	g := begin(t, append([]string{"testdata/drain.yaml"}, args...)...)
	testkit.AwaitFor(t, patience, "the namespace of the run", func() bool { return g.namespace(t) != "" })
	kubectl(t, "create", "poddisruptionbudget", "backends", "-n", g.namespace(t), "--selector=rpclab/role=backend", "--min-available=2")
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	trial := s.document.Arms[0].Trials[0]
	if e := trial.Events[0]; len(e.Affected) == 0 || e.Error != "" || e.Failed > 0 {
		t.Errorf("the event %s affected %v, want a backend; error %q; %d calls failed: %v", e.What, e.Affected, e.Error, e.Failed, e.Errors)
	}
	if ready := trial.Timeline.Ready; len(ready) == 0 || slices.Min(ready) < 2 {
		t.Errorf("the numbers of ready backends are %v, want 2 at least", ready)
	}
	if lost := trial.Measures.Failed(); lost > 0 {
		t.Errorf("%d calls failed: %v", lost, trial.Samples)
	}
	return s.document
}
