package kube

import (
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestTheNextRunRemovesAKilledRun(t *testing.T) {
	g := begin(t, "channels", "--quick")
	testkit.AwaitFor(t, patience, "a pod of the run", func() bool {
		found := g.namespace(t)
		return found != "" && kubectl(t, "get", "pods", "-n", found, "-o", "name") != ""
	})
	if err := g.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	left := g.namespace(t)
	if said := ran(t, testkit.Rpclab(t), "clean"); strings.Contains(said, left) {
		t.Errorf("rpclab clean removed a run whose lease had not expired:\n%s", said)
	}
	// Let the lease expire.
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`)
	if said := ran(t, testkit.Rpclab(t), "clean"); !strings.Contains(said, left) {
		t.Errorf("rpclab clean did not remove the namespace of a dead run:\n%s", said)
	}
	g.leavesNothing(t)
}

func TestTheReaperRemovesAKilledRun(t *testing.T) {
	t.Parallel()
	g := begin(t, "channels", "--quick")
	var left string
	testkit.AwaitFor(t, patience, "the run's reaper", func() bool {
		left = g.namespace(t)
		return left != "" && kubectl(t, "get", "pods", "-n", left, "-l", "rpclab/service=reaper",
			"--field-selector", "status.phase=Running", "-o", "name") != ""
	})
	if err := g.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"leaseDurationSeconds":10}}`)
	testkit.AwaitFor(t, patience, "the namespace to disappear", func() bool { return g.namespace(t) == "" })
}
