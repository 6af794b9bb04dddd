package kube

import (
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// disturbing starts a run that scales an existing Service to 4 early in a load of this length.
func disturbing(t *testing.T, namespace, length string, more ...string) *liveRun {
	t.Helper()
	return begin(t, append([]string{"churn", "--quick", "--allow-disruption", "--service", greeter(t, "service: "+namespace+"/orders"), "--arms", "endpointslice",
		"--set", "load.open.rate=100", "--set", "load.open.duration=" + length, "--set", "caller.timeout=15s"}, more...)...)
}

func replicas(t *testing.T, namespace string) string {
	t.Helper()
	return kubectl(t, "get", "deployment", "orders", "-n", namespace, "-o", "jsonpath={.spec.replicas}")
}

func TestAPermittedDisruptionIsListedAndRestored(t *testing.T) {
	t.Parallel()
	const namespace = "shop-disturbed"
	shop(t, namespace)
	g := disturbing(t, namespace, "32s", permitted(t, "disturbs", "service", "disruption"), "--set", "events=[{at: 1s, scale: 4}, {at: 7s, kill: 1}, {at: 12s, roll: true}]")
	s := g.end(t)
	g.leavesNothing(t)
	want := "--allow-disruption: this run changes the Deployment shop-disturbed/orders and its pods, which serve shop-disturbed/orders: scale 4, kill 1, roll. Afterwards it sets its replicas to 2 again."
	if s.code != 0 || !strings.Contains(s.stderr, want) {
		t.Fatalf("exit code %d, want 0, and %s\n%s", s.code, want, s.stderr)
	}
	for _, e := range s.document.Arms[0].Trials[0].Events {
		t.Logf("%s: endpoints ready %s, first call %s, balanced again %s; %d calls failed", e.What, after(e.Took.EndpointReady), after(e.Took.FirstCall), after(e.Took.BalanceRestored), e.Failed)
		if e.Error != "" {
			t.Errorf("%s: error %q", e.What, e.Error)
		}
	}
	if kubectl(t, "get", "deployment", "orders", "-n", namespace, "-o", `jsonpath={.spec.template.metadata.annotations}`) == "" {
		t.Error("the Deployment was not restarted")
	}
	if now := replicas(t, namespace); now != "2" {
		t.Errorf("the Deployment has %s replicas after the run, want 2", now)
	}
}

func TestADisruptionIsRestoredAfterSIGKILL(t *testing.T) {
	t.Parallel()
	const namespace = "shop-killed"
	shop(t, namespace)
	g := disturbing(t, namespace, "60s", "--set", "events=[{at: 1s, scale: 4}]")
	testkit.AwaitFor(t, patience, "the Deployment to be scaled", func() bool { return replicas(t, namespace) == "4" })
	if err := g.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.end(t)
	left := g.namespace(t)
	kubectl(t, "patch", "lease", "owner", "-n", left, "--type=merge", "-p", `{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`)
	// The run of another test that starts now may remove the namespace first.
	if said := ran(t, testkit.Rpclab(t), "clean"); strings.Contains(said, left) && !strings.Contains(said, "Deployment shop-killed/orders: 2 replicas again") {
		t.Errorf("rpclab clean does not say what it restored:\n%s", said)
	}
	if now := replicas(t, namespace); now != "2" {
		t.Errorf("the Deployment has %s replicas after rpclab clean, want 2", now)
	}
	g.leavesNothing(t)
}

func TestADisruptionNeedsPermissions(t *testing.T) {
	t.Parallel()
	const namespace = "shop-forbidden"
	shop(t, namespace)
	config := user(t, "cautious", runRules+`
- {apiGroups: [""], resources: [services], verbs: [get]}
`)
	g := disturbing(t, namespace, "5s", "--set", "events=[{at: 1s, scale: 4}]", "--kubeconfig", config)
	s := g.end(t)
	g.leavesNothing(t)
	want := "--allow-disruption: this user may not get deployments, list deployments, list horizontalpodautoscalers in the namespace shop-forbidden"
	if s.code != 3 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 3, and %s\n%s", s.code, want, s.stderr)
	}
}
