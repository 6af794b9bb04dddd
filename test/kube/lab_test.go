package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// labUp starts `rpclab lab up` on the cluster, and returns when it has printed its table. An empty image is built and
// loaded by the command.
func labUp(t *testing.T, image string, args ...string) *liveRun {
	t.Helper()
	clusterDir(t)
	g := &liveRun{}
	g.command = exec.CommandContext(t.Context(), testkit.Rpclab(t), append(append([]string{"lab", "up"}, args...), "--on", "kubernetes")...)
	g.command.Env = append(os.Environ(), "RPCLAB_IMAGE="+image)
	g.command.Stdout, g.command.Stderr = g, g
	g.start(t)
	g.awaitFor(t, 3*patience, "the table of the lab", func(text string) bool { // an image is built and loaded first
		return strings.Contains(text, "Press Ctrl-C to stop")
	})
	return g
}

// stop interrupts a lab, which must remove everything.
func (g *liveRun) stop(t *testing.T) {
	t.Helper()
	if g.namespace(t) == "" {
		t.Error("the lab has no namespace")
	}
	if err := g.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if s := g.end(t); s.code != 0 {
		t.Errorf("after an interrupt the exit code is %d, want 0:\n%s", s.code, s.stderr)
	}
	g.leavesNothing(t)
}

// TestLabUpBalancingOnKubernetes runs the command of the study on the ports of nodes, with gateways and servers in Go
// and in Python.
func TestLabUpBalancingOnKubernetes(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		targets := filepath.Join(t.TempDir(), "balancing.json")
		g := labUp(t, image(t), "balancing", "--port", "30712", "--cpus", "0.2", "--targets", targets)
		limits := kubectl(t, "-n", g.namespace(t), "get", "pods", "-l", "rpclab/role=backend", "-o", "jsonpath={.items[*].spec.containers[0].resources.limits}")
		if strings.Count(limits, `{"cpu":"200m"}`) != 9 {
			t.Errorf("the limits of the servers are %s, want 0.2 CPUs each", limits)
		}
		calls := map[string]map[string]int{}
		for i, route := range []struct {
			mode    string
			servers int // that receive calls
		}{{"clusterip", 1}, {"headless", 3}, {"envoy", 3}} {
			port := 30712 + i
			if want := fmt.Sprintf(":%d/fibonacci/random?iterations=100'", port); !strings.Contains(g.text(), want) {
				t.Errorf("the table has no command with %q:\n%s", want, g.text())
			}
			calls[route.mode] = testBalancing(t, port, route.mode, route.servers)
		}
		checkTargets(t, targets)
		checkDashboard(t, prometheus(t, filepath.Dir(targets)), calls)
		onNodeNetwork(t, testkit.Rpclab(t), "lab", "reset", "--host", anyNode, "--port", "30712")
		if counts := countedCalls(t, 30712, "clusterip"); sum(counts) != 0 {
			t.Errorf("after the reset the gateway counts %v", counts)
		}
		ran(t, testkit.Rpclab(t), "clean") // removes only what nobody runs
		g.stop(t)
	})
	t.Run("python", func(t *testing.T) {
		g := labUp(t, "", "balancing", "--port", "30722", "--language", "python", "--model", "async", "--routes", "clusterip,headless")
		// The asynchronous gateway of the study opens a channel for each request, and gRPC's core shares one connection
		// between the channels of simultaneous requests: how many servers are reached is chance.
		awaitServers(t, 30722, 1)
		callBalancing(t, 30722, "clusterip")
		testBalancing(t, 30723, "headless", 3)
		g.stop(t)
	})
}

// checkTargets reads every target of Prometheus.
func checkTargets(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	series := map[string]string{"gateway": "grpc_requests_total{", "server": "grpc_server_handled_total{"}
	read := map[string]int{}
	for _, group := range groups {
		job := group.Labels["job"]
		for _, target := range group.Targets {
			if said := onNodeNetwork(t, "curl", "-sSf", "http://"+target+"/metrics"); strings.Contains(said, series[job]) {
				read[job]++
			}
		}
	}
	// Over the route clusterip one server receives all calls, and counts only those of its methods.
	if read["gateway"] != 3 || read["server"] < 7 {
		t.Errorf("%v of the targets %s serve metrics of calls, want 3 gateways and 7 servers", read, text)
	}
}

// awaitPort waits until the nodes accept connections at a port, which kube-proxy opens a moment after its Service exists.
func awaitPort(t *testing.T, port int) {
	t.Helper()
	onNodeNetwork(t, "timeout", "30", "bash", "-c", fmt.Sprintf("until (: </dev/tcp/%s/%d) 2>/dev/null; do sleep 0.2; done", anyNode, port))
}

// TestLabUpServersOnKubernetes calls the servers of the studies without gateways on the ports of nodes.
func TestLabUpServersOnKubernetes(t *testing.T) {
	t.Parallel()
	name := image(t)
	chain := labUp(t, name, "chain", "--rest-port", "30750", "--port", "30751")
	if said := curl(t, 30750, "/increase/41"); !strings.Contains(said, "42") {
		t.Errorf("chain: 41 + 1 is %s", said)
	}
	calls := []string{testkit.Rpclab(t), "load", "--no-store", "--assert", "errors == 0"}
	awaitPort(t, 30751)
	onNodeNetwork(t, append(calls, "--call", "python_to_python_simple.Simple_python_python/increase", "-d", `{"num": "{{.Number}}"}`, "-c", "1", "-n", "100", anyNode+":30751")...)
	chain.stop(t)

	keys := filepath.Join(t.TempDir(), "keys")
	streams := labUp(t, name, "streams", "--port", "30752", "--keys-dir", keys)
	awaitPort(t, 30752)
	said := onNodeNetwork(t, testkit.Rpclab(t), "load", "--keys", filepath.Join(keys, "keys.json"), "-host="+anyNode+":30752", "-interval=1", "-transactions=50",
		"-client-id=myClient", "-x", "3", "-y", "1", "-operation=isprime", "-latency-gt=1000", "-jwt-gen=once", "-mode=bidirectional")
	if !strings.Contains(said, "50 of 50 calculations answered") {
		t.Errorf("streams: %s", said)
	}
	streams.stop(t)
	if _, err := os.Stat(keys); err == nil {
		t.Error("the keys of the streams study remain")
	}

	ladder := labUp(t, name, "ladder", "--language", "go", "--rest-port", "30753", "--port", "30754", "--cpus", "0.5", "--memory", "256Mi")
	limits := kubectl(t, "-n", ladder.namespace(t), "get", "pods", "-l", "rpclab/role=backend", "-o", "jsonpath={.items[*].spec.containers[0].resources.limits}")
	if strings.Count(limits, `{"cpu":"500m","memory":"256Mi"}`) != 2 {
		t.Errorf("the limits of REST and gRPC are %s, want 0.5 CPU and 256 MiB each", limits)
	}
	onNodeNetwork(t, "curl", "-sSf", "--retry", "30", "--retry-delay", "1", "--retry-connrefused", "-d", "{}", "-H", "content-type: application/json", "http://"+anyNode+":30753/orders")
	awaitPort(t, 30754)
	onNodeNetwork(t, append(calls, "--call", "rpclab.v1.OrderService/PlaceOrder", "-d", "{}", "-c", "10", "-n", "20", anyNode+":30754")...)
	ladder.stop(t)
}
