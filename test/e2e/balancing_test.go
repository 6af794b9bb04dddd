package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBalancingSpreadsCallsByRoute checks which backends the calls of the gateway reach on every
// route, in Go and in Python, and that the result has the CPU time of every component.
func TestBalancingSpreadsCallsByRoute(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) { balancing(t, try, wrong) })
}

// balancing allows that a gateway makes its first calls before the last connection is open.
func balancing(t *testing.T, try int, wrong func(format string, args ...any)) {
	d, s := quickTry(t, "balancing", try)
	s.within(2*time.Minute, wrong) // it starts servers in Python
	for _, a := range d.Arms {
		if len(a.Errors) != 0 || a.Dropped != 0 || a.Calls == 0 {
			t.Errorf("%s: %d requests, errors %v (%v), %d dropped", a.Name, a.Calls, a.Errors, a.Samples, a.Dropped)
		}
		used := a.Resources
		for component, cpu := range map[string]float64{"client": used.Client.CPU, "gateway": used.Gateway.CPU, "server": used.Server.CPU} {
			if cpu <= 0 {
				t.Errorf("%s: the CPU time of the %s is %g µs per call, want more than 0", a.Name, component, cpu)
			}
		}
		proxied := slices.Contains([]string{"envoy", "haproxy", "nginx", "forwarder"}, a.Route)
		if (used.Proxy.CPU > 0) != proxied {
			t.Errorf("%s: the CPU time of the proxy is %g µs per call; route with a proxy: %t", a.Name, used.Proxy.CPU, proxied)
		}
	}
	const iterations = 30
	for _, name := range []string{"clusterip", "clusterip-again", "clusterip-one-thread", "forwarder", "python-clusterip", "python-clusterip-one-thread", "python-clusterip-async-shared", "clusterip-budget"} {
		a := arm(t, d, name)
		if calls := counts(a.Backends); len(calls) != 3 || slices.Max(calls) != iterations*a.Calls {
			t.Errorf("%s: calls by backend are %v, want all on one of three", name, a.Backends)
		}
	}
	for _, name := range []string{"headless", "endpointslice", "xds", "envoy", "haproxy", "nginx", "python-headless", "python-headless-one-thread", "python-envoy", "python-headless-async-shared", "headless-budget", "envoy-budget"} {
		a := arm(t, d, name)
		calls, even := counts(a.Backends), float64(iterations*a.Calls)/3
		if len(calls) != 3 || float64(slices.Max(calls)) > even*1.05 || float64(slices.Min(calls)) < even*0.95 {
			wrong("%s: calls by backend are %v, want equal shares within 5 %%", name, a.Backends)
		}
	}
	// Each of 20 requests has a connection to a random backend.
	if calls := counts(arm(t, d, "python-forwarder-own-connection").Backends); slices.Max(calls) == iterations*20 {
		t.Errorf("python-forwarder-own-connection: calls by backend are %v, want them on several", calls)
	}
	if a := d.Accounts[0]; a.Published != "clusterip-budget" || a.Baseline != "headless-budget" || a.ControlledBaseline != "headless" {
		t.Errorf("the first account is %+v, want that of the budget", a)
	}
	if len(d.Published) != 30 {
		t.Errorf("the result has %d published figures, want 15 for each language", len(d.Published))
	}
}

func TestBalancingShowsPublishedFigures(t *testing.T) {
	t.Parallel()
	_, s := quick(t, "balancing")
	text := strings.Join(strings.Fields(s.stdout), " ")
	for _, sentence := range []string{"401,150", "481,620", "(docs/studies.md#balancing), of 50 requests of 10,000 calls each, measured on other hardware", "measured as in the published study, with other settings", "client gateway"} {
		if !strings.Contains(text, sentence) {
			t.Errorf("the report does not say %q:\n%s", sentence, s.stdout)
		}
	}
}
