package e2e

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// TestASlowBackendMakesATailForWhoeverTakesTurns: one of three backends turns ten times
// slower. Who looks at what is under way keeps the tail short, and so does who calls
// slowness a failure; who takes turns builds a queue there.
func TestASlowBackendMakesATailForWhoeverTakesTurns(t *testing.T) {
	d, _ := document(t, "policies", "--rounds", "1", "--set", "load.open.duration=6s",
		"--arms", "round-robin,least-request,outlier,outlier-deadline,envoy-least-request")
	turns := arm(t, d, "round-robin")
	slow := victim(t, turns)
	for _, name := range []string{"least-request", "outlier-deadline", "envoy-least-request"} {
		a := arm(t, d, name)
		if a.Latency.P99 > turns.Latency.P99/2 {
			t.Errorf("%s: p99 %.0f ms, round robin %.0f ms; at least twice as good is promised", name, a.Latency.P99, turns.Latency.P99)
		}
		if share(a, victim(t, a)) > share(turns, slow)*0.9 {
			t.Errorf("%s sends the slow backend %.2f of the calls, round robin %.2f", name, share(a, victim(t, a)), share(turns, slow))
		}
	}
	if a := arm(t, d, "outlier"); share(a, victim(t, a)) < 0.3 {
		t.Errorf("a slow backend does not fail, yet outlier sends it only %.2f of the calls", share(a, victim(t, a)))
	}
}

// victim is the backend that the first event hit.
func victim(t *testing.T, a result.Arm) string {
	t.Helper()
	hit := a.Trials[0].Events[0].Hit
	if len(hit) != 1 {
		t.Fatalf("%s: the event hit %v", a.Name, hit)
	}
	return hit[0]
}

func share(a result.Arm, backend string) float64 {
	return float64(a.Backends[backend]) / float64(a.Calls)
}

// TestARolloutLosesNoCallOfThoseWhoAreTold: every backend is replaced under load. A
// client that is told in time loses nothing; one that knows a single backend loses all
// from then on, and each loss has its code.
func TestARolloutLosesNoCallOfThoseWhoAreTold(t *testing.T) {
	d, _ := document(t, "rollout", "--quick")
	if len(d.Arms) != 11 {
		t.Errorf("%d arms", len(d.Arms))
	}
	for _, a := range d.Arms {
		e := a.Trials[0].Events[0]
		var counted uint64
		for _, calls := range e.Errors {
			counted += calls
		}
		if e.Error != "" || e.Failed != counted || len(a.Trials[0].Lost) > 0 {
			t.Errorf("%s: %+v, lost %q", a.Name, e, a.Trials[0].Lost)
		}
		lost := a.Failed() + a.Dropped
		switch told := []string{"endpointslice", "xds"}; {
		case slices.Contains(told, a.Name) && lost > 0:
			t.Errorf("%s lost %d calls: %v", a.Name, lost, a.Errors)
		case a.Name == "direct" && lost == 0:
			t.Error("direct lost no call, and its backend was replaced")
		}
	}
}

// TestAHopHasAPrice: a proxy's processor time and memory are measured, and where there
// is none, there are none.
func TestAHopHasAPrice(t *testing.T) {
	d, _ := document(t, "proxy-tax", "--quick")
	for _, a := range d.Arms {
		proxied := !strings.HasPrefix(a.Name, "none")
		if u := a.Resources.Proxy; a.Failed() > 0 || (u.CPU > 5) != proxied || (u.RSS > 1<<20) != proxied {
			t.Errorf("%s: %d calls failed; the proxy used %.1f µs a call and %d bytes", a.Name, a.Failed(), u.CPU, u.RSS)
		}
	}
}
