package kube

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/testkit"
)

var installed sync.Once

// istio installs Istio in the cluster, once for all tests.
func istio(t *testing.T) {
	t.Helper()
	installed.Do(func() { cluster(t, "istio") })
}

// callGreeter makes 300 calls over one connection from the pod caller of a namespace to the servers in the mesh.
func callGreeter(t *testing.T, from string) error {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(clusterDir(t), "kubectl"), "-n", from, "exec", "caller", "-c", "main", "--",
		"/rpclab", "load", "--call", "rpclab.v1.Greeter/SayHello", "-d", `{"name":"you"}`, "--no-wait", "--no-store", "--calls", "300", "--connections", "1",
		"--assert", "errors == 0", "greeter.meshed:50051").CombinedOutput()
	if err != nil {
		return fmt.Errorf("calls from the namespace %s: %w\n%s", from, err, out)
	}
	return nil
}

// proxyCounters returns the sum of a counter of the sidecars of all greeters.
func proxyCounters(t *testing.T, counter string) (total int) {
	t.Helper()
	for _, pod := range strings.Fields(kubectl(t, "-n", "meshed", "get", "pods", "-l", "app=greeter", "-o", "name")) {
		out := kubectl(t, "-n", "meshed", "exec", pod, "-c", "istio-proxy", "--", "pilot-agent", "request", "GET", "stats?filter="+counter)
		for _, found := range regexp.MustCompile(counter+`: (\d+)`).FindAllStringSubmatch(out, -1) {
			n := 0
			_, _ = fmt.Sscan(found[1], &n) // digits
			total += n
		}
	}
	return total
}

// meshed creates the servers and callers of testdata/istio.yaml until the test ends, in a mode of mutual TLS. UNSET is the
// mode of the mesh.
func meshed(t *testing.T, mode string) {
	t.Helper()
	text, err := os.ReadFile("testdata/istio.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "istio.yaml")
	replaced := strings.NewReplacer("IMAGE", image(t), "mode: STRICT", "mode: "+mode).Replace(string(text))
	if err := os.WriteFile(manifest, []byte(replaced), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The context of the test has ended.
		if out, err := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "delete", "-f", manifest, "--timeout=120s").CombinedOutput(); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
	kubectl(t, "apply", "-f", manifest)
	kubectl(t, "-n", "meshed", "rollout", "status", "deployment/greeter", "--timeout=180s")
	for _, namespace := range []string{"meshed", "unmeshed"} {
		kubectl(t, "-n", namespace, "wait", "--for=condition=Ready", "pod/caller", "--timeout=180s")
	}
	if proxies := kubectl(t, "-n", "meshed", "get", "pods", "-o", "jsonpath={.items[*].status.initContainerStatuses[*].name}"); strings.Count(proxies, "istio-proxy") != 3 {
		t.Fatalf("the init containers of 3 pods are %s, want an istio-proxy in each", proxies)
	}
}

// awaitTLS waits until the pods of meshed obey a mode of mutual TLS. Calls in the mesh always succeed. The sidecars of the
// servers make TLS handshakes for them except under DISABLE, and refuse a caller without a certificate under STRICT.
func awaitTLS(t *testing.T, mode string) {
	t.Helper()
	const handshakes = `listener\.0\.0\.0\.0_15006\.ssl\.handshake`
	testkit.AwaitFor(t, patience, "mutual TLS in the mode "+mode, func() bool {
		before := proxyCounters(t, handshakes)
		inside, outside := callGreeter(t, "meshed"), callGreeter(t, "unmeshed")
		made := proxyCounters(t, handshakes) - before
		t.Logf("%s: %d handshakes; in the mesh: %v; outside: %v", mode, made, inside, outside)
		return inside == nil && (made > 0) == (mode != "DISABLE") && (outside == nil) == (mode != "STRICT")
	})
}

// TestIstioEncryptsCallsAndRefusesPlainText shows that the sidecars are injected and that calls go through them.
func TestIstioEncryptsCallsAndRefusesPlainText(t *testing.T) {
	t.Parallel()
	istio(t)
	meshed(t, "STRICT")
	awaitTLS(t, "STRICT")
	for _, mode := range []string{"PERMISSIVE", "DISABLE"} {
		kubectl(t, "-n", "meshed", "patch", "peerauthentication", "default", "--type=merge", "-p", `{"spec":{"mtls":{"mode":"`+mode+`"}}}`)
		awaitTLS(t, mode)
	}
}

// TestIstioBalancesTheCallsOfOneConnection checks the routes of Istio in a run, with sidecars and without.
func TestIstioBalancesTheCallsOfOneConnection(t *testing.T) {
	t.Parallel()
	istio(t)
	d := mustRun(t, "testdata/mesh.yaml", permitted(t, "meshes", "mesh"))
	for i, want := range []string{onOne, even, even} {
		arm := d.Arms[i]
		if arm.Calls != 3000 || arm.Failed() > 0 {
			t.Errorf("%s: %d calls, %d failed: %v", arm.Name, arm.Calls, arm.Failed(), arm.Samples)
		}
		if got := distribution(arm); got != want {
			t.Errorf("%s: calls are %s, want %s: %v", arm.Name, got, want, arm.Backends)
		}
	}
	if proxies := d.Arms[1].Resources.Proxy; proxies.CPU <= 0 || proxies.RSS == 0 {
		t.Errorf("the sidecars used %+v, want CPU time and memory", proxies)
	}
}

// TestIstioWithoutSidecarsCallsAServiceWithTLS: the client of the route istio-xds itself encrypts its calls, but cannot have
// another authority. The proxies of the route istio could not read the calls, and the run is refused.
func TestIstioWithoutSidecarsCallsAServiceWithTLS(t *testing.T) {
	t.Parallel()
	istio(t)
	file := secureExperiment(t, t.TempDir(), fmt.Sprintf(`image: %q, port: 9000, args: ["{{.Address}}"], replicas: 2, ready: tcp, files: %s`, secureImage, secureFiles),
		"{clusterip: {route: clusterip}, istio-xds: {route: istio-xds}}")
	for route, want := range map[string]string{
		"istio":     "route istio balances calls, and its proxies cannot read those of the service shop",
		"istio-xds": "on route istio-xds the client finds the service by the authority of its calls, and tls.servername sets another",
	} {
		if s := run(t, file, "--set", "arms.clusterip.route="+route); s.code != 2 || !strings.Contains(s.stderr, want) {
			t.Errorf("route %s: exit code %d, want 2, and why it cannot be used:\n%s", route, s.code, s.stderr)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "servername: shop.example", "insecure: true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	checkSecureArms(t, mustRun(t, file), 2)
}
