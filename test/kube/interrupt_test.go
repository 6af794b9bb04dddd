package kube

import (
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

// TestAnInterruptedRunLeavesNothing interrupts runs in several phases.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	const load = "load.open.duration=60s"
	for _, phase := range []struct {
		name  string
		args  []string
		await func(*testing.T, *liveRun)
		code  int
	}{
		{"while pods are pending", []string{"--set", "server.cpus=200"}, func(t *testing.T, g *liveRun) {
			awaitPods(t, g, "Pending", 3)
		}, 130},
		{"while pods run", []string{"--set", load}, func(t *testing.T, g *liveRun) {
			awaitPods(t, g, "Running", 3)
		}, 130},
		{"during the load", []string{"--set", load}, func(t *testing.T, g *liveRun) {
			g.await(t, `endpointslice +\d+/s`)
		}, 130},
		{"during the clean-up", nil, awaitCleanUp, 0}, // all trials are measured
	} {
		t.Run(phase.name, func(t *testing.T) {
			t.Parallel()
			g := begin(t, append([]string{"testdata/callers.yaml", "--rounds", "1", "--set", "callers=1"}, phase.args...)...)
			phase.await(t, g)
			interrupt(t, g)
			if s := g.end(t); s.code != phase.code || s.code != 0 && !strings.Contains(s.stderr, "interrupted") {
				t.Errorf("exit code %d, want %d:\n%s", s.code, phase.code, s.stderr)
			}
			g.leavesNothing(t)
		})
	}
	t.Run("twice, during the clean-up", func(t *testing.T) {
		t.Parallel()
		g := begin(t, "testdata/callers.yaml", "--rounds", "1", "--set", "callers=1", "--set", load)
		awaitPods(t, g, "Running", 3)
		interrupt(t, g)
		awaitCleanUp(t, g)
		interrupt(t, g)
		g.end(t) // the second signal ends it, or it had ended
		testkit.AwaitFor(t, patience, "the namespace to disappear", func() bool { return g.namespace(t) == "" })
	})
}

// awaitCleanUp waits until the namespace of a run is being deleted, or is gone.
func awaitCleanUp(t *testing.T, g *liveRun) {
	t.Helper()
	exists := false
	testkit.AwaitFor(t, patience, "the namespace to be deleted", func() bool {
		existed := exists
		exists = g.namespace(t) != ""
		return existed && !exists || terminating(t, g)
	})
}

func interrupt(t *testing.T, g *liveRun) {
	t.Helper()
	if err := g.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// awaitPods waits until count pods of a run are in a phase.
func awaitPods(t *testing.T, g *liveRun, phase string, count int) {
	t.Helper()
	testkit.AwaitFor(t, patience, "pods "+phase, func() bool {
		namespace := g.namespace(t)
		if namespace == "" {
			return false
		}
		out := kubectl(t, "get", "pods", "-n", namespace, "-l", "rpclab/role=backend", "--field-selector", "status.phase="+phase, "-o", "name")
		return len(strings.Fields(out)) >= count
	})
}

// terminating reports whether the namespace of a run is being deleted.
func terminating(t *testing.T, g *liveRun) bool {
	t.Helper()
	namespace := g.namespace(t)
	return namespace != "" && kubectl(t, "get", "namespaces", "--field-selector", "metadata.name="+namespace, "-o", "jsonpath={.items[*].metadata.deletionTimestamp}") != ""
}
