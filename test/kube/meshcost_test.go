package kube

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// meshModes are the modes of mutual TLS that an Istio can require of the pods of its mesh.
var meshModes = []string{"DISABLE", "PERMISSIVE", "STRICT"}

// requireTLS sets the mode of mutual TLS of all namespaces without a mode of their own, and waits until the pods of meshed obey
// it.
func requireTLS(t *testing.T, mode string) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "mode.yaml")
	text := fmt.Sprintf("apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default, namespace: istio-system}\nspec: {mtls: {mode: %s}}\n", mode)
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-f", manifest)
	awaitTLS(t, mode)
}

// TestIstioCosts measures no proxy, an Envoy beside each caller, and Istio in each mode of mutual TLS, and runs
// experiments of the studies through Istio while it refuses plain text. -update writes the page.
func TestIstioCosts(t *testing.T) {
	istio(t)
	t.Cleanup(func() { // the context of the test has ended
		if out, err := exec.Command(filepath.Join(clusterDir(t), "kubectl"), "delete", "peerauthentication", "default", "-n", "istio-system", "--ignore-not-found").CombinedOutput(); err != nil {
			t.Errorf("kubectl delete: %v\n%s", err, out)
		}
	})
	meshed(t, "UNSET")
	rounds := "1"
	if *testkit.Update {
		rounds = "6"
	}
	byMode, studies := map[string]result.Document{}, []string(nil)
	for _, mode := range meshModes {
		requireTLS(t, mode)
		d := mustRun(t, "testdata/meshcost.yaml", "--rounds", rounds)
		byMode[mode] = d
		for _, arm := range d.Arms {
			if arm.Calls == 0 || arm.Failed() > 0 || distribution(arm) != even {
				t.Errorf("%s, %s: %d calls, %d failed, by backend %v; want an even share without errors: %v", mode, arm.Name, arm.Calls, arm.Failed(), arm.Backends, arm.Samples)
			}
			if has := arm.Resources.Proxy.CPU > 0 && arm.Resources.Proxy.RSS > 0; has != (arm.Route == "envoy" || arm.Route == "istio") {
				t.Errorf("%s, %s: the proxies used %+v", mode, arm.Name, arm.Resources.Proxy)
			}
			t.Logf("%s, %s: %s", mode, arm.Name, costs(arm))
		}
		if none, mesh := armOf(d, "none").Latency.P50, armOf(d, "istio").Latency.P50; mesh <= none {
			t.Errorf("%s: the p50 through two proxies is %.2f ms, and %.2f ms without a proxy; want more", mode, mesh, none)
		}
		if mode != "DISABLE" {
			t.Run("experiments under "+mode, func(t *testing.T) { studies = append(studies, experimentsThroughIstio(t, mode)...) })
		}
	}
	const path = "../../docs/findings/mesh.md"
	if *testkit.Update {
		if err := os.WriteFile(path, []byte(meshPage(byMode, studies)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// armOf returns the arm of a document by its name.
func armOf(d result.Document, name string) result.Arm {
	return d.Arms[slices.IndexFunc(d.Arms, func(a result.Arm) bool { return a.Name == name })]
}

// experimentsThroughIstio runs built-in experiments with arms through Istio, and returns a row for each arm.
func experimentsThroughIstio(t *testing.T, mode string) (rows []string) {
	for _, args := range [][]string{
		{"balancing", "--quick", "--rounds", "1", "--arms", "clusterip,headless,envoy", "--set", "arms.envoy.route=istio", "--set", "arms.envoy.describe=Istio"},
		{"proxy-tax", "--quick", "--rounds", "1", "--arms", "none,envoy-sidecar", "--set", "arms.envoy-sidecar.route=istio", "--set", "design=isolated"},
		{"rollout", "--quick", "--arms", "clusterip,envoy,xds", "--set", "arms.envoy.route=istio", "--set", "arms.xds.route=istio-xds", "--set", "load.open.duration=15s"},
	} {
		d := mustRun(t, args...)
		for _, arm := range d.Arms {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %d | %d | %s | %.2f | %.2f |",
				strings.ToLower(mode), args[0], arm.Route, arm.Calls, arm.Failed(), cmp.Or(map[string]string{onOne: "one", even: "all, evenly"}[distribution(arm)], "all, unevenly"), arm.Latency.P50, arm.Latency.P99))
			t.Log(rows[len(rows)-1], arm.Errors, arm.Backends)
			if arm.Calls == 0 || args[0] != "rollout" && arm.Failed() > 0 {
				t.Errorf("%s, %s: %d of %d calls failed: %v", args[0], arm.Name, arm.Failed(), arm.Calls, arm.Samples)
			}
			if arm.Route == "istio" && args[0] != "rollout" && distribution(arm) != even {
				t.Errorf("%s, %s: calls by backend %v, want equal shares", args[0], arm.Name, arm.Backends)
			}
		}
		for _, e := range d.Events {
			t.Logf("%s, %s: %s: %d calls failed %v, first call after %s", args[0], e.Arm, e.What, e.Failed, e.Errors, after(e.Took.FirstCall))
			if e.Error != "" {
				t.Errorf("%s, %s: %s: %s", args[0], e.Arm, e.What, e.Error)
			}
		}
	}
	return rows
}

// costs is what the calls of an arm cost.
func costs(a result.Arm) string {
	us := func(cpu float64) string {
		if cpu <= 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f", cpu)
	}
	return fmt.Sprintf("%.2f | %.2f | %s | %s | %s | %.0f |", a.Latency.P50, a.Latency.P99,
		us(a.Resources.Client.CPU), us(a.Resources.Proxy.CPU), us(a.Resources.Server.CPU), float64(a.Resources.Proxy.RSS)/(1<<20))
}

// meshAnswer is what a sidecar of each kind adds to the median latency, and its CPU time.
func meshAnswer(d result.Document) string {
	times := func(arm, how string) string {
		v := verdictOn(d, "latency_p50", arm, "none")
		if v.Decision != "worse" {
			return fmt.Sprintf("whether the median call takes longer %s is undecided (%.2f–%.2f times as long)", how, v.CI[0], v.CI[1])
		}
		return fmt.Sprintf("the median call takes %.2f times as long (%.2f–%.2f) %s", v.Ratio, v.CI[0], v.CI[1], how)
	}
	return fmt.Sprintf("**With strict mutual TLS, compared with calls without a proxy: %s, and %s. "+
		"A call costs %.0f µs of CPU time in Istio's proxies, and %.0f µs in the sidecar. A gRPC client that asks istiod itself (istio-xds) needs no proxy: "+
		"%s.**", times("istio", "through Istio"), times("envoy-sidecar", "through rpclab's Envoy sidecar"),
		armOf(d, "istio").Resources.Proxy.CPU, armOf(d, "envoy-sidecar").Resources.Proxy.CPU, times("istio-xds", "with it"))
}

func TestTheAnswerOnTheMeshSaysWhatIsUndecided(t *testing.T) {
	t.Parallel()
	var d result.Document
	for arm, decision := range map[string]string{"istio": "worse", "envoy-sidecar": "worse", "istio-xds": "undecided"} {
		d.Arms = append(d.Arms, result.Arm{Name: arm})
		d.Verdicts = append(d.Verdicts, result.Verdict{Metric: "latency_p50", A: arm, B: "none", Ratio: 2, CI: [2]float64{1.5, 2.5}, Decision: decision})
	}
	got := meshAnswer(d)
	for _, want := range []string{
		"the median call takes 2.00 times as long (1.50–2.50) through Istio, and", "whether the median call takes longer with it is undecided (1.50–2.50 times as long).**",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %q", got, want)
		}
	}
}

// meshPage returns the page with the runs of all modes. studies are rows of experimentsThroughIstio.
func meshPage(byMode map[string]result.Document, studies []string) string {
	var b strings.Builder
	d := byMode["STRICT"]
	linux, _, _ := strings.Cut(d.Machine.Kernel, "-")
	fmt.Fprintf(&b, `# What do the sidecars of a mesh cost?

%s

A call through Istio passes two Envoys, beside the caller and beside the backend; a call through rpclab's Envoy sidecar
passes one, without encryption. In the arms xds and istio-xds the gRPC client itself gets the backends, from rpclab's
control plane or from istiod, and calls them without a proxy and without encryption. One caller makes 200 calls/s to
three backends. Latencies are in milliseconds. CPU time per call, in microseconds, is the sum over all callers, proxies or servers.
Memory is that of all proxies, in MiB: of Istio's what is resident after the load, of the Envoy sidecar its peak. The kubelet
measures Istio's proxies only every ten seconds or so, so their CPU time also contains some of the idle time around a load.

Made on %s with %d CPUs (%s), Linux %s, Kubernetes %s on the same machine. Rounds: %d.
Each row says how its p50 compares with that of none, with the range of the ratio. Where a row is undecided and its range
excludes 1, [a guard](../method/statistics.md#guards) forbids a verdict, for example because other programs were busy. The
whole cluster shares the CPUs, so compare rows of one table only. Istio is a snapshot of 1.31 with [upstream's Envoy](../../test/cluster/istio/README.md). This command measures
them again:

<!-- not run: it writes this page, and takes 45 minutes -->
    go run ./test/cluster with -- go test ./test/kube -timeout 90m -run IstioCosts -update

`, meshAnswer(d), time.Now().UTC().Format(time.DateOnly), d.Machine.CPUs, d.Machine.Model, linux, d.Machine.Kubernetes, len(d.Arms[0].Trials))
	titles := map[string]string{"DISABLE": "Without mutual TLS", "PERMISSIVE": "Permissive: mutual TLS between sidecars, plain text from others", "STRICT": "Strict: mutual TLS only"}
	for _, mode := range meshModes {
		fmt.Fprintf(&b, "## %s\n\n| arm | p50 against none | p50 | p99 | CPU of the caller | of proxies | of servers | memory of proxies |\n|---|---|--:|--:|--:|--:|--:|--:|\n", titles[mode])
		for _, arm := range byMode[mode].Arms {
			fmt.Fprintf(&b, "| %s | %s | %s\n", arm.Name, inWords(verdictOn(byMode[mode], "latency_p50", arm.Name, "none")), costs(arm))
		}
		b.WriteString("\n")
	}
	b.WriteString("## Experiments of the studies\n\nOne quick round of each, in which arms go through Istio. In balancing, ClusterIP keeps a connection to one backend; the sidecar\n" +
		"spreads its calls. rollout replaces all backends under load.\n\n" +
		"| mutual TLS | experiment | route | calls | lost | backends called | p50 | p99 |\n|---|---|---|--:|--:|---|--:|--:|\n" + strings.Join(studies, "\n") + "\n\n")
	b.WriteString("**Not proven here:** Linkerd. The test cluster is built only from package registries, and none of them has Linkerd. Results\nwith its route say so.\n")
	return b.String()
}
