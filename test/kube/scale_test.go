package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

// The tests Soak run with make cluster-soak, whose cluster has at most ten endpoints in a slice.

// TestSoakTwentyCallers reports what a caller costs and how far apart callers start.
func TestSoakTwentyCallers(t *testing.T) {
	d := mustRun(t, "testdata/callers.yaml", "--set", "callers=20", "--set", "load.open.rate=400", "--set", "load.open.duration=5s", "--rounds", "3")
	for _, trial := range d.Arms[0].Trials {
		var calls uint64
		var rate float64
		var cpu []float64
		for _, c := range trial.Callers {
			calls, rate, cpu = calls+c.Calls, rate+c.Rate, append(cpu, c.Resources.CPU)
		}
		if len(trial.Callers) != 20 || calls != 2000 || trial.Failed != "" || len(trial.Errors) > 0 {
			t.Fatalf("round %d: %d callers made %d calls with errors %v; want 20 callers and 2000 calls: %s", trial.Round, len(trial.Callers), calls, trial.Errors, trial.Failed)
		}
		checkMergedHistogram(t, trial)
		slices.Sort(cpu)
		t.Logf("round %d: %d callers, %.0f calls/s together, CPU time a call %.0f to %.0f µs (median %.0f), started within %.1f ms; 100,000 calls/s need %.1f CPUs of callers",
			trial.Round, len(trial.Callers), rate, cpu[0], cpu[len(cpu)-1], cpu[len(cpu)/2], result.Skew(trial.Callers), cpu[len(cpu)/2]/10)
	}
}

// TestSoakHundredBackendsInTenSlices makes calls to backends whose EndpointSlices the controller made.
func TestSoakHundredBackendsInTenSlices(t *testing.T) {
	d := mustRun(t, "testdata/routes.yaml", "--arms", "headless,endpointslice,kuberesolver,xds", "--set", "server.replicas=100")
	for _, arm := range d.Arms {
		used := answering(arm)
		t.Logf("%s: %d of 100 backends received calls, Jain's index %.3f, %d of %d calls failed", arm.Name, used, arm.Balance.Jain, arm.Failed(), arm.Calls)
		if one := arm.Name == "kuberesolver"; one && used > 10 || !one && used != 100 {
			t.Errorf("%s: %d backends received calls, want all 100, or the 10 of one slice with kuberesolver", arm.Name, used)
		}
	}
}

// TestSoakDrain reports the losses of each route when a node is drained while a budget protects the backends.
func TestSoakDrain(t *testing.T) {
	for _, route := range []string{"clusterip", "headless", "endpointslice", "kuberesolver", "xds"} {
		trial := drained(t, "--set", "route="+route, "--set", "load.open.duration=25s").Arms[0].Trials[0]
		e := trial.Events[0]
		t.Logf("%s: %d backends evicted, %d of %d calls failed %v, first call at a new backend %s", route, len(e.Affected), e.Failed, trial.Calls, e.Errors, after(e.Took.FirstCall))
		if len(e.Affected) == 0 || e.Error != "" {
			t.Errorf("%s: the event %s affected %v, want a backend; error %q", route, e.What, e.Affected, e.Error)
		}
		if route == "endpointslice" && trial.Failed != "" {
			t.Errorf("%s: %s", route, trial.Failed)
		}
	}
}

// TestSoakAutoscaler reports how long it takes until pods of a HorizontalPodAutoscaler receive calls, on each route.
func TestSoakAutoscaler(t *testing.T) {
	for route, follows := range map[string]bool{"clusterip": false, "headless": false, "endpointslice": true, "kuberesolver": true, "xds": true} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
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
			trial := s.document.Arms[0].Trials[0]
			line := trial.Timeline
			ready := slices.IndexFunc(line.Ready, func(n int) bool { return n > 1 })
			if ready < 0 {
				t.Fatalf("no second backend was ready: %v", line.Ready)
			}
			t.Logf("%s: a second backend was ready %s after the load began; first calls %v; %d of %d calls failed", route,
				seconds(ready, line), firstCalls(line), trial.Measures.Failed(), trial.Calls)
			if got := len(firstCalls(line)) > 1; got != follows {
				t.Errorf("new backends received calls: %t, want %t: %v", got, follows, trial.Backends)
			}
		})
	}
}

// firstCalls are the times of the first call of each backend that received calls.
func firstCalls(line *result.Timeline) (all []string) {
	for _, id := range slices.Sorted(maps.Keys(line.Backends)) {
		if i := slices.IndexFunc(line.Backends[id], func(n uint64) bool { return n > 0 }); i >= 0 {
			all = append(all, seconds(i, line))
		}
	}
	return all
}

func seconds(interval int, of *result.Timeline) string {
	return fmt.Sprintf("%.1f s", float64(int64(interval)*of.IntervalMS)/1000)
}
