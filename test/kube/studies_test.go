package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

// The manifests of deploy/kubernetes, and a node address as in deploy/README.md.
const (
	labManifests = "../../deploy/kubernetes/lab"
	anyNode      = "198.18.255.11"
)

// patience is how long pods may take to start on a busy machine.
const patience = 3 * time.Minute

func TestStudyManifestsOnKubernetes(t *testing.T) {
	t.Parallel()
	manifest := filepath.Join(t.TempDir(), "lab.yaml")
	lab := strings.ReplaceAll(kubectl(t, "kustomize", labManifests), "rpclab:lab", image(t)) // which the nodes have
	if err := os.WriteFile(manifest, []byte(lab), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", manifest)
	t.Cleanup(func() {
		// The context of the test has ended.
		if out, err := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "delete", "-f", manifest, "--timeout=120s").CombinedOutput(); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
	for _, stack := range []string{"clusterip", "headless", "envoy", "channels"} {
		for _, part := range []string{"server", "gateway"} {
			rolledOut(t, stack+"-"+part)
		}
	}
	for _, c := range []struct {
		port    int
		mode    string
		servers int // that receive calls
	}{{30612, "clusterip", 1}, {30613, "headless", 3}, {30614, "envoy", 3}} {
		t.Run("balancing "+c.mode, func(t *testing.T) { testBalancing(t, c.port, c.mode, c.servers) })
	}
	t.Run("channels", testChannels)
}

func rolledOut(t *testing.T, deployment string) {
	t.Helper()
	kubectl(t, "-n", "rpclab", "rollout", "status", "deployment/"+deployment, fmt.Sprintf("--timeout=%.0fs", patience.Seconds()))
}

// curl requests a path of a gateway, and tries again until the gateway is ready.
func curl(t *testing.T, port int, path string) string {
	t.Helper()
	return onNodeNetwork(t, "curl", "-sS", "--max-time", "120", "--retry", "30", "--retry-delay", "1", "--retry-connrefused", fmt.Sprintf("http://%s:%d%s", anyNode, port, path))
}

// testBalancing runs the command of the balancing study against a gateway, whose route sends the calls to one server
// or evenly to three. It returns the calls by server.
func testBalancing(t *testing.T, port int, mode string, servers int) map[string]int {
	t.Helper()
	awaitServers(t, port, servers)
	counts := callBalancing(t, port, mode)
	checkShares(t, counts, servers, 0.2) // a connection at its maximum age is replaced, which takes a moment
	return counts
}

// callBalancing runs the command of the balancing study against a gateway, and returns the calls by server. The gateway
// must count all calls.
func callBalancing(t *testing.T, port int, mode string) map[string]int {
	t.Helper()
	onNodeNetwork(t, "curl", "-sSf", "-X", "POST", fmt.Sprintf("http://%s:%d/-/reset", anyNode, port))
	const iterations = 60
	onNodeNetwork(t, "sh", "-c", fmt.Sprintf(
		"seq 1 50 | xargs -I{} -P20 curl -sSf --max-time 120 -o /dev/null 'http://%s:%d/fibonacci/random?iterations=%d&fibo_start=800&fibo_end=1000'",
		anyNode, port, iterations))
	counts := countedCalls(t, port, mode)
	if total := sum(counts); total != 50*iterations {
		t.Errorf("the gateway counted %d calls, want %d: %v", total, 50*iterations, counts)
	}
	return counts
}

// countedCalls returns the calls by server that a gateway has counted.
func countedCalls(t *testing.T, port int, mode string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(curl(t, port, "/metrics")) {
		if !strings.HasPrefix(line, "grpc_requests_total{") {
			continue
		}
		if !strings.Contains(line, fmt.Sprintf("mode=%q", mode)) {
			t.Errorf("a series has another mode than %s: %s", mode, line)
		}
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		_, server, _ := strings.Cut(line, `server_name="`)
		server, _, _ = strings.Cut(server, `"`)
		counts[server] += int(n)
	}
	return counts
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// awaitServers waits until this number of servers answers through a gateway. A route discovers a server
// a little after the cluster reports it as ready.
func awaitServers(t *testing.T, port, servers int) {
	t.Helper()
	testkit.AwaitFor(t, patience, fmt.Sprintf("%d servers to answer at port %d", servers, port), func() bool {
		var answer struct {
			Calls []struct {
				Server string `json:"server_name"`
			}
		}
		said := curl(t, port, "/increment?iterations=30&output=true")
		if err := json.Unmarshal([]byte(said), &answer); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		seen := map[string]bool{}
		for _, call := range answer.Calls {
			seen[call.Server] = true
		}
		return len(seen) == servers
	})
}

// checkShares requires calls on exactly this number of servers, in equal shares.
func checkShares(t *testing.T, counts map[string]int, servers int, within float64) {
	t.Helper()
	if len(counts) != servers {
		t.Errorf("%d servers received calls, want %d: %v", len(counts), servers, counts)
		return
	}
	total := sum(counts)
	for server, n := range counts {
		if share := float64(n) * float64(servers) / float64(total); math.Abs(share-1) > within {
			t.Errorf("%s received %d of %d calls, want an equal share: %v", server, n, total, counts)
		}
	}
}

// burstAnswer is the answer of the gateway to a burst of calls: calls by the IP address of the pod,
// failures by code.
type burstAnswer struct {
	Time   float64        `json:"time"` // ms
	Counts map[string]int `json:"count_per_ip"`
	Errors map[string]int `json:"errors"`
}

func burst(t *testing.T, kind string, n int) (a burstAnswer) {
	t.Helper()
	said := curl(t, 30620, fmt.Sprintf("/experiment/client?type=%s&n=%d", kind, n))
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return a
}

// checkComplete requires an answer to every call, none before the servers' delay of half a second.
func (a burstAnswer) checkComplete(t *testing.T, n int) {
	t.Helper()
	all := 0
	for _, calls := range a.Counts {
		all += calls
	}
	if all != n || len(a.Errors) > 0 || a.Time < 500 {
		t.Errorf("%d of %d calls were answered after %.0f ms, failed %v; want all, after 500 ms or more", all, n, a.Time, a.Errors)
	}
}

// ready returns the addresses of the ready servers of the channels study.
func ready(t *testing.T) []string {
	t.Helper()
	out := kubectl(t, "-n", "rpclab", "get", "endpointslices", "-l", "kubernetes.io/service-name=channels-server",
		"-o", `jsonpath={range .items[*].endpoints[?(@.conditions.ready==true)]}{.addresses[0]}{"\n"}{end}`)
	all := strings.Fields(out)
	slices.Sort(all)
	return all
}

// testChannels repeats the experiment of the channels study: three clients, then the client that watches
// endpoints while servers are added, killed and removed.
func testChannels(t *testing.T) {
	const n = 300
	for kind, servers := range map[string]int{"ClientWithReuseConn": 1, "Client": 3} {
		a := burst(t, kind, n)
		a.checkComplete(t, n)
		if len(a.Counts) != servers {
			t.Errorf("calls of %s reached %v, want %d servers", kind, a.Counts, servers)
		}
	}
	checkDiscovery(t, 3, n)
	scale := func(replicas int) {
		kubectl(t, "-n", "rpclab", "scale", "deployment", "channels-server", fmt.Sprint("--replicas=", replicas))
		checkDiscovery(t, replicas, n)
	}
	scale(10)
	pods := strings.Fields(kubectl(t, "-n", "rpclab", "get", "pods", "-o", "name", "-l", "rpclab/mode=kuberesolver,app.kubernetes.io/component=server"))
	if len(pods) == 0 {
		t.Fatal("there is no server")
	}
	before := ready(t)
	kubectl(t, "-n", "rpclab", "delete", pods[0], "--now")
	testkit.AwaitFor(t, patience, "a replacement of the killed server", func() bool { return !slices.Equal(ready(t), before) })
	checkDiscovery(t, 10, n)
	scale(2)
}

// checkDiscovery waits until this number of servers is ready and receives all calls, and requires equal
// shares.
func checkDiscovery(t *testing.T, servers, n int) {
	t.Helper()
	testkit.AwaitFor(t, patience, fmt.Sprintf("%d servers to be ready", servers), func() bool { return len(ready(t)) == servers })
	var a burstAnswer
	testkit.AwaitFor(t, patience, fmt.Sprintf("calls to reach the %d ready servers", servers), func() bool {
		a = burst(t, "ClientWithKubeResolver", n)
		return slices.Equal(slices.Sorted(maps.Keys(a.Counts)), ready(t))
	})
	a = burst(t, "ClientWithKubeResolver", n)
	a.checkComplete(t, n)
	checkShares(t, a.Counts, servers, 0.1)
}
