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

// What the distribution of calls over backends is called.
const (
	onOne  = "all on one"
	even   = "even"
	uneven = "uneven"
)

// distribution is how calls fell on backends: even from the index on at which a result calls
// the balance restored.
func distribution(a result.Arm) string {
	switch {
	case a.Balance.Pattern == "one-takes-all":
		return onOne
	case a.Balance.Jain >= 0.95:
		return even
	}
	return uneven
}

// onBoth are the arms of testdata/routes.yaml that one machine has too.
var onBoth = []string{
	"direct", "clusterip", "forwarder", "headless", "endpointslice", "kuberesolver", "xds",
	"envoy", "envoy-sidecar", "haproxy", "haproxy-sidecar", "nginx", "nginx-sidecar",
}

var routes struct {
	sync.Mutex
	on map[string]result.Document // by cluster
}

// routesOn is what a run of every route on a cluster gave, which is made once for all tests.
func routesOn(t *testing.T, cluster string) result.Document {
	t.Helper()
	routes.Lock()
	defer routes.Unlock()
	if d, made := routes.on[cluster]; made {
		return d
	}
	args := []string{"run", "testdata/routes.yaml", "--on", cluster, "--no-store", "--json", "-"}
	if cluster == "local" {
		args = append(args, "--arms", strings.Join(onBoth, ","))
	}
	image(t, "")
	d := resulttest.Read(t, strings.NewReader(ran(t, testkit.Rpclab(t), args...)))
	if routes.on == nil {
		routes.on = map[string]result.Document{}
	}
	routes.on[cluster] = d
	return d
}

// Latencies differ from machine to machine, and from run to run; where calls go does not.
func TestFidelity(t *testing.T) {
	if !*testkit.Update { // which records latencies
		t.Parallel()
	}
	here, there := routesOn(t, "local"), routesOn(t, "kubernetes")
	byName := map[string]result.Arm{}
	for _, arm := range there.Arms {
		byName[arm.Name] = arm
	}
	for _, arm := range here.Arms {
		if a, b := distribution(arm), distribution(byName[arm.Name]); a != b {
			t.Errorf("%s: calls are %s on one machine (%v), and %s on Kubernetes (%v)", arm.Name, a, arm.Backends, b, byName[arm.Name].Backends)
		}
	}
	const path = "../../docs/findings/fidelity.md"
	if *testkit.Update {
		if err := os.WriteFile(path, []byte(fidelity(here, there)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "\n## ")
	for i, table := range strings.SplitN(tables, "\n## ", 2) {
		d := []result.Document{here, there}[i]
		for _, arm := range d.Arms {
			if begin := row(arm.Name, distribution(arm)); !strings.Contains(table, begin) {
				t.Errorf("%s has no line %q of %s; if it should: go test ./test/kube -run Fidelity -update", path, begin, d.Cluster)
			}
		}
		if lines := strings.Count(table, "\n| ") - 1; lines != len(d.Arms) { // the heading is no arm
			t.Errorf("%s has %d lines of %s, where there are %d arms", path, lines, d.Cluster, len(d.Arms))
		}
	}
}

// row is how a line of a table begins.
func row(arm, distribution string) string { return fmt.Sprintf("| %s | %s |", arm, distribution) }

// fidelity is the page that holds both runs.
func fidelity(here, there result.Document) string {
	var b strings.Builder
	linux, _, _ := strings.Cut(here.Machine.Kernel, "-")
	fmt.Fprintf(&b, `# Do routes behave on Kubernetes as on one machine?

Made on %s from a run of test/kube/testdata/routes.yaml on each, by

    go run ./test/cluster with -- go test ./test/kube -run Fidelity -update

which starts a real Kubernetes cluster on this machine (test/cluster) for the second. %d CPUs (%s), Linux %s,
%s.

**Yes: every route spreads calls in the same way on both.** 30 users make 3,000 calls on one channel to three backends. Calls
are even from a Jain's index of 0.95 on. Do not compare routes by these latencies: they are of one run, on a machine that also
ran the whole cluster.

`, time.Now().UTC().Format(time.DateOnly), here.Machine.CPUs, here.Machine.Model, linux, here.Machine.Go)
	b.WriteString("## On one machine\n\n    rpclab run test/kube/testdata/routes.yaml --arms \\\n      " + strings.Join(onBoth, ",") + "\n\n")
	table(&b, here)
	fmt.Fprintf(&b, "\n## On Kubernetes %s\n\nNodePort is the only additional route that needs no installation.\n\n    rpclab run test/kube/testdata/routes.yaml --on kubernetes\n\n", there.Machine.Kubernetes)
	table(&b, there)
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
