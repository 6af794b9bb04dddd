package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

// The standing lab of deploy/kubernetes, and the commands of deploy/README.md.
const (
	standingLab = "../../deploy/kubernetes/lab"
	anyNode     = "198.18.255.11"
)

// patience is how long a busy machine may take to bring pods up.
const patience = 3 * time.Minute

func TestStudyManifestsOnKubernetes(t *testing.T) {
	image(t, "rpclab:lab")
	kubectl(t, "apply", "-k", standingLab)
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if out, err := exec.Command(filepath.Join(bed(t), "kubectl"), "delete", "-k", standingLab, "--timeout=120s").CombinedOutput(); err != nil {
			t.Errorf("kubectl delete -k: %v\n%s", err, out)
		}
	})
	for _, chain := range []string{"clusterip", "headless", "envoy", "channels"} {
		for _, part := range []string{"server", "gateway"} {
			rolledOut(t, chain+"-"+part)
		}
	}
	for _, c := range []struct {
		port    int
		mode    string
		servers int // that get calls
	}{{30612, "clusterip", 1}, {30613, "headless", 3}, {30614, "envoy", 3}} {
		t.Run("study 1 "+c.mode, func(t *testing.T) { study1(t, c.port, c.mode, c.servers) })
	}
	t.Run("study 2", study2)
}

func rolledOut(t *testing.T, deployment string) {
	t.Helper()
	kubectl(t, "-n", "rpclab", "rollout", "status", "deployment/"+deployment, fmt.Sprintf("--timeout=%.0fs", patience.Seconds()))
}

// curl asks a gateway, again while it is not there yet.
func curl(t *testing.T, port int, path string) string {
	t.Helper()
	return outside(t, "curl", "-sS", "--max-time", "120", "--retry", "30", "--retry-delay", "1", "--retry-connrefused", fmt.Sprintf("http://%s:%d%s", anyNode, port, path))
}

// study1 runs the study's command against a gateway: all its calls are counted, on one
// server or even over three.
func study1(t *testing.T, port int, mode string, servers int) {
	settle(t, port, servers)
	outside(t, "curl", "-sSf", "-X", "POST", fmt.Sprintf("http://%s:%d/-/reset", anyNode, port))
	const iterations = 60
	outside(t, "sh", "-c", fmt.Sprintf(
		"seq 1 50 | xargs -I{} -P20 curl -sSf --max-time 120 -o /dev/null 'http://%s:%d/fibonacci/random?iterations=%d&fibo_start=800&fibo_end=1000'",
		anyNode, port, iterations))
	counts := map[string]int{}
	total := 0
	for line := range strings.Lines(curl(t, port, "/metrics")) {
		if !strings.HasPrefix(line, "grpc_requests_total{") {
			continue
		}
		if !strings.Contains(line, fmt.Sprintf("mode=%q", mode)) {
			t.Errorf("a series has another mode: %s", line)
		}
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		_, server, _ := strings.Cut(line, `server_name="`)
		server, _, _ = strings.Cut(server, `"`)
		counts[server] += int(n)
		total += int(n)
	}
	if total != 50*iterations {
		t.Errorf("%d calls are counted, not %d: %v", total, 50*iterations, counts)
	}
	alike(t, counts, servers, 0.2) // a connection that ends of age is away for a moment
}

// settle waits until so many servers answer through a gateway: a route learns of the last
// of them a little after the cluster says that it is ready.
func settle(t *testing.T, port, servers int) {
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

// alike holds the counts of so many servers to equal shares.
func alike(t *testing.T, counts map[string]int, servers int, within float64) {
	t.Helper()
	if len(counts) != servers {
		t.Errorf("%d servers got calls, not %d: %v", len(counts), servers, counts)
		return
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	for server, n := range counts {
		if share := float64(n) * float64(servers) / float64(total); math.Abs(share-1) > within {
			t.Errorf("%s got %d of %d calls: %v", server, n, total, counts)
		}
	}
}

// answered is what study 2 says of so many calls at once: calls by the IP of the pod that
// answered, failures by code.
type answered struct {
	Time   float64        `json:"time"` // ms
	Counts map[string]int `json:"count_per_ip"`
	Errors map[string]int `json:"errors"`
}

func burst(t *testing.T, kind string, n int) (a answered) {
	t.Helper()
	said := curl(t, 30620, fmt.Sprintf("/experiment/client?type=%s&n=%d", kind, n))
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return a
}

// whole holds a burst to an answer for every call, none before the servers' half second.
func (a answered) whole(t *testing.T, n int) {
	t.Helper()
	all := 0
	for _, calls := range a.Counts {
		all += calls
	}
	if all != n || len(a.Errors) > 0 || a.Time < 500 {
		t.Errorf("%d of %d calls were answered, after %.0f ms, and failed: %v", all, n, a.Time, a.Errors)
	}
}

// ready are the addresses of the servers of study 2 that are ready and stay.
func ready(t *testing.T) []string {
	t.Helper()
	out := kubectl(t, "-n", "rpclab", "get", "endpointslices", "-l", "kubernetes.io/service-name=channels-server",
		"-o", `jsonpath={range .items[*].endpoints[?(@.conditions.ready==true)]}{.addresses[0]}{"\n"}{end}`)
	all := strings.Fields(out)
	slices.Sort(all)
	return all
}

// study2 is the study's experiment: three clients, then the one that watches endpoints while
// servers come, go and die.
func study2(t *testing.T) {
	const n = 300
	for kind, servers := range map[string]int{"ClientWithReuseConn": 1, "Client": 3} {
		a := burst(t, kind, n)
		a.whole(t, n)
		if len(a.Counts) != servers {
			t.Errorf("calls of %s went to %v, not to %d servers", kind, a.Counts, servers)
		}
	}
	follows(t, 3, n)
	scale := func(replicas int) {
		kubectl(t, "-n", "rpclab", "scale", "deployment", "channels-server", fmt.Sprint("--replicas=", replicas))
		follows(t, replicas, n)
	}
	scale(10)
	pods := strings.Fields(kubectl(t, "-n", "rpclab", "get", "pods", "-o", "name", "-l", "rpclab/mode=kuberesolver,app.kubernetes.io/component=server"))
	before := ready(t)
	kubectl(t, "-n", "rpclab", "delete", pods[0], "--now")
	testkit.AwaitFor(t, patience, "another server to take the place of the one that was killed", func() bool { return !slices.Equal(ready(t), before) })
	follows(t, 10, n)
	scale(2)
}

// follows waits until so many servers are ready and calls go to just these, then holds
// them to equal shares.
func follows(t *testing.T, servers, n int) {
	t.Helper()
	testkit.AwaitFor(t, patience, fmt.Sprintf("%d servers to be ready", servers), func() bool { return len(ready(t)) == servers })
	var a answered
	testkit.AwaitFor(t, patience, fmt.Sprintf("calls to go to the %d servers that are ready", servers), func() bool {
		a = burst(t, "ClientWithKubeResolver", n)
		return slices.Equal(slices.Sorted(maps.Keys(a.Counts)), ready(t))
	})
	a = burst(t, "ClientWithKubeResolver", n)
	a.whole(t, n)
	alike(t, a.Counts, servers, 0.1)
}
