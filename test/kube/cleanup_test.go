package kube

import (
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// A Deployment without pods stands for one that a killed run had scaled. The next run restores it, and the reaper keeps the
// namespace of such a run.
func TestTheNextRunRemovesAKilledRun(t *testing.T) {
	apply(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: idle, namespace: default}, spec: {replicas: 0, selector: {matchLabels: {app: idle}},
  template: {metadata: {labels: {app: idle}}, spec: {containers: [{name: main, image: none}]}}}}`)
	g := begin(t, "channels", "--quick")
	testkit.AwaitFor(t, patience, "a pod of the run", func() bool {
		found := g.namespace(t)
		return found != "" && kubectl(t, "get", "pods", "-n", found, "-l", "rpclab/service!=reaper", "-o", "name") != ""
	})
	if err := g.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	left := g.namespace(t)
	kubectl(t, "annotate", "namespace", left, `rpclab/scaled={"default/idle":{"before":0,"set":[0]}}`)
	if said := ran(t, testkit.Rpclab(t), "clean"); strings.Contains(said, left+"  owner") || strings.Contains(said, "nothing to remove") && !strings.Contains(said, left) {
		t.Errorf("rpclab clean, before the lease of %s had expired, printed:\n%s", left, said)
	}
	// Let the lease expire.
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`)
	s := run(t, "testdata/callers.yaml", "--rounds", "1", "--set", "callers=1")
	if want := "Deployment default/idle: 0 replicas again, after the run " + strings.TrimPrefix(left, "rpclab-") + " was killed"; s.code != 0 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 0, and %q:\n%s", s.code, want, s.stderr)
	}
	testkit.AwaitFor(t, patience, "the namespace of the killed run to disappear", func() bool { return g.namespace(t) == "" })
}

// TestTheReaperRemovesAKilledRun kills a run whose namespace no other run and no rpclab clean removes meanwhile.
func TestTheReaperRemovesAKilledRun(t *testing.T) {
	t.Parallel()
	g := begin(t, "channels", "--quick")
	var left string
	testkit.AwaitFor(t, patience, "the run's reaper", func() bool {
		left = g.namespace(t)
		return left != "" && kubectl(t, "get", "pods", "-n", left, "-l", "rpclab/service=reaper",
			"--field-selector", "status.phase=Running", "-o", "name") != ""
	})
	kubectl(t, "annotate", "namespace", left, "--overwrite", "rpclab/ttl=24h")
	if err := g.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"leaseDurationSeconds":10}}`)
	testkit.AwaitFor(t, patience, "the namespace to disappear", func() bool { return g.namespace(t) == "" })
}
