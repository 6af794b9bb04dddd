package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// A quota that the experiment sets may be its question; any other is interference.
func TestAQuotaOfTheExperimentIsNoInterference(t *testing.T) {
	callers := measure.Measurement{CPU: 3 * time.Second, Throttled: time.Second, Stolen: 0.1}
	backends := map[string]cluster.Usage{"a": {CPU: time.Second, Throttled: 2 * time.Second, Stolen: 0.3}, "b": {CPU: time.Second}}
	proxy := cluster.Usage{CPU: time.Second, Throttled: time.Second, Stolen: 0.2}
	for cpus, throttled := range map[float64]float64{0.5: 2.0 / 6, 0: 4.0 / 10} {
		config := experiment.Config{Server: experiment.Server{CPUs: cpus}}
		b := Record{Config: config, Merged: callers, Servers: backends, Proxies: proxy}.NodeInterference()
		if b.Throttled != throttled || b.Stolen != 0.3 || b.Others != nil {
			t.Errorf("server.cpus %g: interference is %+v, want %g throttled and 0.3 stolen", cpus, b, throttled)
		}
	}
	// It is not known how long the servers of a user in pods were throttled.
	b := Record{Config: experiment.Config{Service: "orders"}, Merged: callers, Servers: map[string]cluster.Usage{"a": {CPU: time.Hour}}}.NodeInterference()
	if b.Throttled != 0.25 {
		t.Errorf("with a service %g is throttled, want 0.25", b.Throttled)
	}
}

func TestServersThrottledByTheirOwnQuotaRaiseAWarning(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	d.Cluster = "kubernetes"
	other := &d.Arms[1]
	for i := range other.Trials {
		used := &other.Trials[i].Resources.Server
		used.CPU, used.ThrottledMS = 1e3, float64(other.Trials[i].Calls) // a millisecond a call each
	}
	if got := Assemble(d).Warnings; slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "throttled") }) {
		t.Errorf("without a limit: warnings %q, want none", got)
	}
	other.Config = map[string]any{"server": map[string]any{"cpus": 0.5}}
	want := "other: its servers were throttled: their quota (server.cpus: 0.5) took 50 % of the CPU time that they needed; unless that limit is the question, raise server.cpus"
	got := Assemble(d)
	if !slices.Contains(got.Warnings, want) {
		t.Errorf("the warnings are %q, want %q", got.Warnings, want)
	}
	if v := got.Verdicts[0]; v.Decision == "undecided" {
		t.Errorf("the experiment's own limit leaves the verdict undecided: %s", v.Reason)
	}
	if sum, one := got.Arms[1].Resources.Server.ThrottledMS, other.Trials[0].Resources.Server.ThrottledMS; sum < one*float64(len(other.Trials)) {
		t.Errorf("the arm's servers were throttled for %g ms, want the sum of its trials of %g ms each", sum, one)
	}
}

func TestAQuotaOfTheClusterLeavesAVerdictUndecided(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	d.Cluster = "kubernetes"
	for i := range d.Arms[1].Trials {
		d.Arms[1].Trials[i].Machine = &result.Interference{Throttled: 0.2}
	}
	if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, "LimitRange") {
		t.Errorf("the verdict is %s, %s; want undecided: LimitRange", v.Decision, v.Reason)
	}
}

func TestAnUnknownMeasureRaisesOneWarning(t *testing.T) {
	const unknown = "what the proxies of istio used is not known: nodes/proxy is forbidden"
	d := arms(t, 20, 20, 20, 20)
	for i := range d.Arms[1].Trials {
		d.Arms[1].Trials[i].Unknown = unknown
	}
	said := slices.DeleteFunc(Assemble(d).Warnings, func(w string) bool { return !strings.Contains(w, unknown) })
	if len(said) != 1 {
		t.Errorf("%d warnings, want 1: %q", len(said), said)
	}
}

func TestARouteWithoutTestsIsReported(t *testing.T) {
	for untested, want := range map[bool]int{false: 0, true: 1} {
		if said := warnings(result.Arm{Name: "mesh", Route: "linkerd", Untested: untested}); len(said) != want {
			t.Errorf("untested: %t: the warnings are %q, want %d", untested, said, want)
		}
	}
}
