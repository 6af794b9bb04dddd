package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// The tests Soak run with make cluster-soak, whose cluster has at most ten endpoints in a slice. With -update, those of
// this file write their sections of docs/findings/scale.md.

const scalePath = "../../docs/findings/scale.md"

// The sections of the page.
const (
	callersTitle    = "Twenty callers"
	backendsTitle   = "A hundred backends in ten EndpointSlices"
	autoscalerTitle = "Backends that a HorizontalPodAutoscaler adds"
	drainTitle      = "A node is drained"
)

const scaleIntro = `# What changes with many callers, many backends and an autoscaler?

**Backends that an autoscaler adds receive calls at once on routes that watch the endpoints, and none on ClusterIP and
headless Services, whose channels keep their connections. A hundred backends in ten EndpointSlices all receive calls,
except with kuberesolver, which uses one slice.** Twenty caller pods share one load and start it together, and a drain
of a node loses no call.

rpclab sends these calls from pods of a Kubernetes cluster on one machine, whose processors the callers, the backends and
the cluster share. So the times are longer than on a cluster with processors to spare. Each event happened once on each
route, so small differences between routes may be chance. This command measures them again:

<!-- not run: it writes this page, and takes 20 minutes -->
    go run ./test/cluster with --name soak --endpoints-per-slice 10 -- go test ./test/kube \
      -timeout 90m -run 'SoakTwenty|SoakHundred|SoakAutoscaler|SoakDrain' -update

`

// writeScale writes a section of the page: what was measured, on which machine, and a table.
func writeScale(t *testing.T, title, text string, on result.Machine, header string, rows []string) {
	t.Helper()
	if t.Failed() || !*testkit.Update {
		return
	}
	page, err := os.ReadFile(scalePath)
	if errors.Is(err, fs.ErrNotExist) {
		page, err = []byte(scaleIntro), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(strings.TrimRight(string(page), "\n")+"\n\n", "## "+title+"\n") // a new section is the last
	later := ""
	if i := strings.Index(rest, "## "); i >= 0 {
		later = rest[i:]
	}
	columns := strings.Count(header, "|") - 1
	section := fmt.Sprintf("## %s\n\n%s\n\n%s\n|---|%s\n%s\n\nMade on %s with %d CPUs (%s), Kubernetes %s.\n\n", title, text, header, strings.Repeat("--:|", columns-1),
		strings.Join(rows, "\n"), time.Now().UTC().Format(time.DateOnly), on.CPUs, on.Model, on.Kubernetes)
	if err := os.WriteFile(scalePath, []byte(strings.TrimRight(before+section+later, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSoakTwentyCallers reports what a caller costs and how far apart callers start: twenty with few calls each, and one
// with many.
func TestSoakTwentyCallers(t *testing.T) {
	var rows []string
	var on result.Machine
	for _, load := range []struct{ callers, rate int }{{20, 400}, {1, 2000}} {
		d := mustRun(t, "testdata/callers.yaml", "--set", fmt.Sprint("callers=", load.callers), "--set", fmt.Sprint("load.open.rate=", load.rate), "--set", "load.open.duration=5s", "--rounds", "3")
		on = d.Machine
		for _, trial := range d.Arms[0].Trials {
			var calls uint64
			var cpu []float64
			for _, c := range trial.Callers {
				calls, cpu = calls+c.Calls, append(cpu, c.Resources.CPU)
			}
			if load.callers == 1 { // it is not listed
				calls, cpu = trial.Calls, []float64{trial.Resources.Client.CPU}
			}
			if len(cpu) != load.callers || calls != uint64(5*load.rate) || trial.Failed != "" || len(trial.Errors) > 0 {
				t.Fatalf("round %d: %d callers made %d calls with errors %v; want %d callers and %d calls: %s", trial.Round, len(cpu), calls, trial.Errors, load.callers, 5*load.rate, trial.Failed)
			}
			slices.Sort(cpu)
			apart := "–"
			if load.callers > 1 {
				checkMergedHistogram(t, trial)
				apart = fmt.Sprintf("%.1f", result.Skew(trial.Callers))
			}
			rows = append(rows, fmt.Sprintf("| %d | %d | %d | %.0f | %.0f | %.0f | %s | %.0f |", load.callers, load.rate/load.callers, trial.Round, cpu[0], cpu[len(cpu)/2], cpu[len(cpu)-1],
				apart, cpu[len(cpu)/2]/10))
			t.Log(rows[len(rows)-1])
		}
	}
	writeScale(t, callersTitle, `Each caller is a pod, and all start the load together. CPU time is in µs a call, of the callers with the least, the median
and the most. A caller with few calls needs more for each, because each wakes an idle process. The last column multiplies
the median by 100,000 calls/s, on paper. Callers that start apart by a few milliseconds make less than their rate for
that long: of a load of 10 s, 10 ms are 0.1 %.`, on,
		"| callers | calls/s each | round | least | median | most | starts apart, ms | CPUs for 100,000 calls/s |", rows)
}

// TestSoakHundredBackendsInTenSlices makes calls to backends whose EndpointSlices the controller made.
func TestSoakHundredBackendsInTenSlices(t *testing.T) {
	d := mustRun(t, "testdata/routes.yaml", "--arms", "headless,endpointslice,kuberesolver,xds", "--set", "server.replicas=100")
	var rows []string
	for _, arm := range d.Arms {
		used := answering(arm)
		rows = append(rows, fmt.Sprintf("| %s | %d | %.3f | %d of %d |", arm.Name, used, arm.Balance.Jain, arm.Failed(), arm.Calls))
		t.Log(rows[len(rows)-1])
		if one := arm.Name == "kuberesolver"; one && used > 10 || !one && used != 100 {
			t.Errorf("%s: %d backends received calls, want all 100, or the 10 of one slice with kuberesolver", arm.Name, used)
		}
	}
	writeScale(t, backendsTitle, `The cluster puts at most ten endpoints into a slice; others put a hundred. kuberesolver uses the slice that [changed
last](https://github.com/sercand/kuberesolver/issues/66).`, d.Machine, "| route | backends that received calls | Jain's index | lost calls |", rows)
}

// TestSoakDrain reports the losses of each route when a node is drained while a budget protects the backends.
func TestSoakDrain(t *testing.T) {
	var rows []string
	var on result.Machine
	for _, route := range []string{"clusterip", "headless", "endpointslice", "kuberesolver", "xds"} {
		d := drained(t, "--set", "route="+route, "--set", "load.open.duration=25s")
		trial := d.Arms[0].Trials[0]
		e := trial.Events[0]
		rows, on = append(rows, fmt.Sprintf("| %s | %d | %d of %d | %s |", route, len(e.Affected), e.Failed, trial.Calls, after(e.Took.FirstCall))), d.Machine
		t.Log(rows[len(rows)-1], e.Errors)
		if watches := !slices.Contains([]string{"clusterip", "headless"}, route); watches && e.Took.FirstCall == nil {
			t.Errorf("%s: no call at a new backend was observed: %v", route, trial.Backends)
		}
		if route == "endpointslice" && trial.Failed != "" {
			t.Errorf("%s: %s", route, trial.Failed)
		}
	}
	writeScale(t, drainTitle, `A PodDisruptionBudget keeps two of three backends, so they leave one by one. Backends end their calls within 2 s.`, on,
		"| route | backends evicted | lost calls | first call at a new backend |", rows)
}

// TestSoakAutoscaler reports how long it takes until pods of a HorizontalPodAutoscaler receive calls, on each route.
func TestSoakAutoscaler(t *testing.T) {
	follows := map[string]bool{"clusterip": false, "headless": false, "endpointslice": true, "kuberesolver": true, "xds": true}
	var rows []string
	var on result.Machine
	for _, route := range slices.Sorted(maps.Keys(follows)) { // in turn: five busy backends at once fail their probes
		t.Run(route, func(t *testing.T) {
			d := autoscaled(t, route)
			trial := d.Arms[0].Trials[0]
			line := trial.Timeline
			ready := slices.IndexFunc(line.Ready, func(n int) bool { return n > 1 })
			if ready < 0 {
				t.Fatalf("no second backend was ready: %v", line.Ready)
			}
			first := firstCalls(line)
			if got := len(first) > 1; got != follows[route] {
				t.Errorf("new backends received calls: %t, want %t: %v", got, follows[route], trial.Backends)
			}
			called := "never"
			if len(first) > 1 {
				called = fmt.Sprintf("within %.1f s", float64(int64(max(first[1]-ready, 0)+1)*line.IntervalMS)/1000)
			}
			rows, on = append(rows, fmt.Sprintf("| %s | %.1f s | %s | %d of %d |", route, float64(int64(ready)*line.IntervalMS)/1000, called, trial.Measures.Failed(), trial.Calls)), d.Machine
			t.Log(rows[len(rows)-1], first)
		})
	}
	writeScale(t, autoscalerTitle, `The autoscaler has a target of 20 % CPU utilization and a maximum of three backends. 50 calls/s to one backend with a fifth
of a CPU exceed the target. Routes that watch the endpoints call them; a channel over ClusterIP or a headless Service keeps
its connections. "Ready" is since the load began, and the first call is since the second backend was ready.`, on, "| route | second backend ready | first call at it | lost calls |", rows)
}

// autoscaled runs testdata/autoscaler.yaml on a route, with a HorizontalPodAutoscaler.
func autoscaled(t *testing.T, route string) result.Document {
	t.Helper()
	g := begin(t, "testdata/autoscaler.yaml", "--set", "route="+route)
	var servers string
	testkit.AwaitFor(t, patience, "the Deployment of the backends", func() bool {
		if ns := g.namespace(t); ns != "" {
			servers = strings.TrimSpace(kubectl(t, "get", "deployments", "-n", ns, "-l", "rpclab/service!=reaper", "-o", "name"))
		}
		return servers != ""
	})
	kubectl(t, "autoscale", servers, "-n", g.namespace(t), "--min=1", "--max=3", "--cpu-percent=20")
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	return s.document
}

// firstCalls are the intervals of the first call of each backend that received calls, in their order.
func firstCalls(line *result.Timeline) (all []int) {
	for _, calls := range line.Backends {
		if i := slices.IndexFunc(calls, func(n uint64) bool { return n > 0 }); i >= 0 {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}
