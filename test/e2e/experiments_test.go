package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// avoidsSlowBackend makes one of three backends ten times slower. Policies that count
// calls in flight keep the tail short; round robin builds a queue. Outlier detection helps only if slow
// calls fail. A busy machine has slow backends of its own.
func avoidsSlowBackend(t *testing.T) {
	t.Helper()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) { slowBackend(t, try, wrong) })
}

func slowBackend(t *testing.T, try int, wrong func(format string, args ...any)) {
	d, s := quickTry(t, "policies", try)
	for _, a := range d.Arms {
		if len(a.Trials[0].Events) == 0 || a.Trials[0].Events[0].Answered == 0 { // its warm-up failed, or the event came after the load
			wrong("%s: no call was answered after the event; %s", a.Name, why(a))
			return
		}
	}
	roundRobin := arm(t, d, "round-robin")
	for _, name := range []string{"least-request", "weighted", "envoy-least-request", "haproxy-least-conn"} {
		a := arm(t, d, name)
		if a.Latency.P99 > roundRobin.Latency.P99/2 {
			wrong("%s has a p99 of %.0f ms and round robin %.0f ms, want at most half", name, a.Latency.P99, roundRobin.Latency.P99)
		}
		if shareOfAffected(t, a) > 0.25 {
			wrong("%s sends the slow backend a share of %.2f of the calls, want at most 0.25", name, shareOfAffected(t, a))
		}
	}
	if share := shareOfAffected(t, arm(t, d, "outlier")); share < 0.3 {
		wrong("outlier sends the slow backend a share of %.2f of the calls, want 0.33, because its calls do not fail", share)
	}
	failing, left := arm(t, d, "deadline"), arm(t, d, "outlier-deadline")
	if avoided := firstEvent(t, left).Took.Avoided; left.Failed() > failing.Failed()/2 || avoided == nil {
		wrong("%d calls exceed their deadline, and %d with outlier detection, which ejected the backend after %v", failing.Failed(), left.Failed(), avoided)
	}
	for _, why := range []string{"round robin gives every backend the same number of calls", "least request picks", "outlier detection leaves out backends whose calls fail"} {
		if !strings.Contains(strings.Join(strings.Fields(s.stdout), " "), why) {
			wrong("the report does not contain the reason %q", why)
		}
	}
}

// firstEvent returns the first event of an arm's first trial.
func firstEvent(t *testing.T, a result.Arm) result.Event {
	t.Helper()
	if len(a.Trials) == 0 || len(a.Trials[0].Events) == 0 {
		t.Fatalf("%s has no event: %s", a.Name, why(a))
	}
	return a.Trials[0].Events[0]
}

// shareOfAffected returns the share of the calls after the first event that the affected backends
// answered.
func shareOfAffected(t *testing.T, a result.Arm) float64 {
	t.Helper()
	e := firstEvent(t, a)
	if len(e.Affected) != 1 || e.Answered == 0 {
		t.Fatalf("%s: %+v", a.Name, e)
	}
	return float64(e.AnsweredByAffected) / float64(e.Answered)
}

// TestARolloutLosesNoCallOfWatchingClients replaces every backend under load. Clients that watch the
// endpoints lose no call. A client with one fixed backend loses all further calls, counted by code.
func TestARolloutLosesNoCallOfWatchingClients(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) { rolledOut(t, try, wrong) })
}

// rolledOut requires the whole rollout, for which a busy machine may take longer than the load.
func rolledOut(t *testing.T, try int, wrong func(format string, args ...any)) {
	d, _ := quickTry(t, "rollout", try)
	if len(d.Arms) != 11 {
		t.Errorf("%d arms, want 11", len(d.Arms))
	}
	for _, a := range d.Arms {
		trial := a.Trials[0]
		e := firstEvent(t, a)
		if e.Unfinished != nil {
			want := fmt.Sprintf("the load ended after %d of 3 backends were replaced", e.Unfinished.Done)
			if !strings.Contains(strings.Join(d.Warnings, "\n"), want) {
				t.Errorf("%s: the warnings are %q, want %q", a.Name, d.Warnings, want)
			}
			wrong("%s: %s", a.Name, want)
			continue
		}
		if e.Error != "" || len(trial.Lost) > 0 {
			wrong("%s: event %+v, lost %q; want three backends and three replacements", a.Name, e, trial.Lost)
		}
		var fresh uint64
		for _, id := range []string{"greeter-3", "greeter-4", "greeter-5"} {
			fresh += trial.Backends[id]
		}
		if len(trial.Backends) != 6 {
			wrong("%s: calls by backend are %v, want three backends and three replacements", a.Name, trial.Backends)
		}
		switch n := a.Failed() + a.Dropped; a.Name {
		case "endpointslice", "xds":
			if n > 0 {
				lost(t, d, wrong)("%s lost %d calls (%v), want none", a.Name, n, a.Errors)
			}
			if fresh < a.Calls/3 {
				wrong("%s: new backends answered %d of %d calls, want at least a third", a.Name, fresh, a.Calls)
			}
		case "direct":
			if a.Errors["UNAVAILABLE"] == 0 || fresh > 0 {
				wrong("direct: errors %v, %d calls answered by new backends; want UNAVAILABLE and 0", a.Errors, fresh)
			}
		}
	}
}

// TestProxyTaxMeasuresTheProxy requires CPU time and memory of the proxy in arms with a proxy, and
// zero in arms without.
func TestProxyTaxMeasuresTheProxy(t *testing.T) {
	t.Parallel()
	d, s := quick(t, "proxy-tax")
	for _, a := range d.Arms {
		proxied := !strings.HasPrefix(a.Name, "none")
		if u := a.Resources.Proxy; a.Failed() > 0 || (u.CPU > 5) != proxied || (u.RSS > 1<<20) != proxied {
			t.Errorf("%s: %d calls failed; the proxy used %.1f µs per call and %d bytes", a.Name, a.Failed(), u.CPU, u.RSS)
		}
		said := regexp.MustCompile(`(?m)^- ` + a.Name + `(:| adds) -?[0-9.]+ ms at the median`).MatchString(s.markdown)
		if said != proxied {
			t.Errorf("the report shows the latency that %s adds: %v, want %v\n%s", a.Name, said, proxied, s.markdown)
		}
		if trial := a.Trials[0]; len(trial.Callers) != 2 {
			t.Errorf("%s: %d callers, want 2", a.Name, len(trial.Callers))
		}
		sidecars := 0
		for name := range a.Files {
			if strings.Contains(name, "-1/") {
				sidecars++
			}
		}
		if (sidecars > 0) != strings.HasSuffix(a.Name, "-sidecar") {
			t.Errorf("%s: %d files of a second proxy, want some only for a sidecar", a.Name, sidecars)
		}
	}
	// Two callers have two connections, so at most two of four workers are busy.
	all, idle := arm(t, d, "envoy-gateway-4-workers").Trials[0].ProxyConnections, 0
	for _, n := range all {
		if n == 0 {
			idle++
		}
	}
	if len(all) != 4 || idle < 2 || idle > 3 {
		t.Errorf("connections by Envoy worker are %v, want two or three idle workers of four", all)
	}
}

// TestAKilledProxyIsRestarted: a proxy that is killed starts again. The calls that fail meanwhile are counted.
func TestAKilledProxyIsRestarted(t *testing.T) {
	t.Parallel()
	killed(t, "kill_proxy", "{envoy: {route: envoy}, haproxy: {route: haproxy}, nginx: {route: nginx}, none: {route: direct}}", true, "this route has no proxy")
}

// rpclab kills the control plane under load. No call fails.
func TestClientsKeepTheirEndpointsWithoutAControlPlane(t *testing.T) {
	t.Parallel()
	killed(t, "kill_control", "{xds: {route: xds}, envoy: {route: envoy}, none: {route: direct}}", false, "this route has no control")
}

// killed runs arms in which an event kills something; elsewhere is the error of an arm without it.
func killed(t *testing.T, event, arms string, loses bool, elsewhere string) {
	file := filepath.Join(t.TempDir(), "killed.yaml")
	if err := os.WriteFile(file, []byte(`
experiment: killed
question: Which calls fail when the proxy or the control plane is killed?
defaults: {workload: {greet: {}}, caller: {timeout: 2s}, load: {open: {rate: 200, duration: 7s}}}
arms: `+arms+`
rounds: 1
events: [{at: 1s, `+event+`: true}]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { recovers(t, file, loses, elsewhere, wrong) })
}

// recovers requires that what was killed runs again two seconds before the end of the load.
func recovers(t *testing.T, file string, loses bool, elsewhere string, wrong func(format string, args ...any)) {
	d, _ := document(t, file)
	for _, a := range d.Arms {
		trial := a.Trials[0]
		e := firstEvent(t, a)
		if a.Name == "none" {
			if e.Error != elsewhere || a.Failed() > 0 {
				wrong("a route without it: %+v, %v", e, a.Errors)
			}
			continue
		}
		// In the last two seconds, calls are answered again.
		var late uint64
		for _, line := range trial.Timeline.Backends {
			for i := 50; i < len(line); i++ {
				late += line[i]
			}
		}
		if e.Error != "" || len(trial.Lost) > 0 || late < 300 || (a.Failed() > 0) != loses || len(trial.Backends) != 3 {
			wrong("%s: %+v, errors %v, lost %q, %d of 400 calls answered at the end", a.Name, e, a.Errors, trial.Lost, late)
		}
		took := e.Took
		if loses && (took.FirstLoss == nil || took.Recovered == nil || took.ProxyReady == nil || *took.Recovered < *took.FirstLoss) {
			wrong("%s: how long there was no service is not known: %+v", a.Name, took)
		}
		if !loses && (took.FirstLoss != nil || took.Recovered != nil || took.ProxyReady != nil) {
			wrong("%s: nothing was lost, and nothing came back: %+v", a.Name, took)
		}
		if controlled := a.Route == "xds" || a.Route == "envoy"; (a.Resources.Control.RSS > 1<<20) != controlled {
			t.Errorf("%s: its control plane used %d bytes", a.Name, a.Resources.Control.RSS)
		}
		if name := a.Route; name != "xds" && d.Machine.Tools[name] == "" {
			t.Errorf("the version of %s is not known: %v", name, d.Machine.Tools)
		}
		if proxied := a.Name != "xds"; (a.Resources.Proxy.CPU > 5) != proxied {
			t.Errorf("%s: the proxy used %.1f µs a call", a.Name, a.Resources.Proxy.CPU)
		}
	}
}
