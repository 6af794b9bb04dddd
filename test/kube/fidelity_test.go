package kube

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// Names of distributions of calls over backends.
const (
	onOne  = "all on one"
	even   = "even"
	uneven = "uneven"
)

// distribution names how calls were distributed. Calls are even from the Jain's index at which a result
// reports balance as restored.
func distribution(a result.Arm) string {
	switch {
	case a.Balance.Pattern == "one-takes-all":
		return onOne
	case a.Balance.Jain >= 0.95:
		return even
	}
	return uneven
}

// localArms are the arms of testdata/routes.yaml that also run on one machine.
var localArms = []string{
	"direct", "clusterip", "forwarder", "headless", "endpointslice", "kuberesolver", "xds",
	"envoy", "envoy-sidecar", "haproxy", "haproxy-sidecar", "nginx", "nginx-sidecar",
}

var routes struct {
	sync.Mutex
	on map[string]result.Document // by cluster
}

// routesOn runs every route on a cluster, once for all tests.
func routesOn(t *testing.T, cluster string) result.Document {
	t.Helper()
	routes.Lock()
	defer routes.Unlock()
	if d, made := routes.on[cluster]; made {
		return d
	}
	args := []string{"run", "testdata/routes.yaml", "--on", cluster, "--no-store", "--json", "-"}
	if cluster == "local" {
		args = append(args, "--arms", strings.Join(localArms, ","))
	}
	image(t)
	d := resulttest.Read(t, strings.NewReader(ran(t, testkit.Rpclab(t), args...)))
	if routes.on == nil {
		routes.on = map[string]result.Document{}
	}
	routes.on[cluster] = d
	return d
}

// TestFidelity compares which backends receive calls. Latencies differ from machine to machine.
func TestFidelity(t *testing.T) {
	if !*testkit.Update { // -update records latencies
		t.Parallel()
	}
	local, kubernetes := routesOn(t, "local"), routesOn(t, "kubernetes")
	byName := map[string]result.Arm{}
	for _, arm := range kubernetes.Arms {
		byName[arm.Name] = arm
	}
	for _, arm := range local.Arms {
		if a, b := distribution(arm), distribution(byName[arm.Name]); a != b {
			t.Errorf("%s: calls are %s on one machine (%v) but %s on Kubernetes (%v)", arm.Name, a, arm.Backends, b, byName[arm.Name].Backends)
		}
	}
	const path = "../../docs/findings/fidelity.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	routes, languages, _ := strings.Cut(string(text), languagesTitle)
	if *testkit.Update {
		routes = fidelity(local, kubernetes)
		if err := os.WriteFile(path, []byte(routes+"\n"+languagesTitle+languages), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, tables, _ := strings.Cut(routes, "\n## ")
	for i, table := range strings.SplitN(tables, "\n## ", 2) {
		d := []result.Document{local, kubernetes}[i]
		for _, arm := range d.Arms {
			if begin := row(arm.Name, distribution(arm)); !strings.Contains(table, begin) {
				t.Errorf("%s has no line %q for %s; to rewrite it: go test ./test/kube -run Fidelity -update", path, begin, d.Cluster)
			}
		}
		if lines := strings.Count(table, "\n| ") - 1; lines != len(d.Arms) { // without the heading
			t.Errorf("%s has %d lines for %s, want %d", path, lines, d.Cluster, len(d.Arms))
		}
	}
}

// row returns the beginning of a line of a table.
func row(arm, distribution string) string { return fmt.Sprintf("| %s | %s |", arm, distribution) }

// fidelity writes the page with both runs.
func fidelity(local, kubernetes result.Document) string {
	var b strings.Builder
	linux, _, _ := strings.Cut(local.Machine.Kernel, "-")
	fmt.Fprintf(&b, `# Do routes behave on Kubernetes as on one machine?

**Yes: every route spreads calls in the same way on both, in every language.** 30 users make 3,000 calls on one channel
to three backends. "Even" means a Jain's index of 0.95 or more. Do not compare routes by these latencies: there is one
run of each, on a machine that also ran the whole cluster.

Made on %s with %d CPUs (%s), Linux %s, %s. This command runs
test/kube/testdata/routes.yaml on one machine and on a Kubernetes cluster that test/cluster starts there:

<!-- not run: it writes this page; the same test without -update compares it -->
    go run ./test/cluster with -- go test ./test/kube -run Fidelity -update

`, time.Now().UTC().Format(time.DateOnly), local.Machine.CPUs, local.Machine.Model, linux, local.Machine.Go)
	b.WriteString("## On one machine\n\n    rpclab run test/kube/testdata/routes.yaml --arms \\\n      " + strings.Join(localArms, ",") + "\n\n")
	table(&b, local)
	fmt.Fprintf(&b, "\n## On Kubernetes %s\n\nNodePort is the only additional route that needs no installation.\n\n    rpclab run test/kube/testdata/routes.yaml --on kubernetes\n\n", kubernetes.Machine.Kubernetes)
	table(&b, kubernetes)
	return b.String()
}

func table(b *strings.Builder, d result.Document) {
	b.WriteString("| arm | calls are | calls a backend | Jain's index | failed | median, ms | p99, ms |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, arm := range d.Arms {
		var counts []string
		for _, n := range slices.Sorted(maps.Values(arm.Backends)) {
			counts = append(counts, fmt.Sprint(n))
		}
		fmt.Fprintf(b, "%s %s | %.3f | %d | %.1f | %.1f |\n", row(arm.Name, distribution(arm)), strings.Join(counts, " / "),
			arm.Balance.Jain, arm.Failed(), arm.Latency.P50, arm.Latency.P99)
	}
}
