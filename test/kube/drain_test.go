package kube

import (
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// drained runs testdata/drain.yaml with a PodDisruptionBudget that permits to evict one of the three backends at a
// time.
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
	return s.document
}
