package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBalancingSpreadsCallsByRoute: which backends a gateway's calls reach on every route of study 1, in Go and in
// Python, and what each party spends on it.
func TestBalancingSpreadsCallsByRoute(t *testing.T) {
	t.Parallel()
	d, s := quick(t, "balancing")
	s.within(t, 2*time.Minute) // as it starts servers in Python
	for _, a := range d.Arms {
		if len(a.Errors) != 0 || a.Dropped != 0 || a.Calls == 0 {
			t.Errorf("%s: %d requests, errors %v (%v), %d dropped", a.Name, a.Calls, a.Errors, a.Samples, a.Dropped)
		}
		spent := a.Resources
		for party, cpu := range map[string]float64{"client": spent.Client.CPU, "gateway": spent.Gateway.CPU, "server": spent.Server.CPU} {
			if cpu <= 0 {
				t.Errorf("%s: what the %s spends is not known", a.Name, party)
			}
		}
		proxied := slices.Contains([]string{"envoy", "haproxy", "nginx", "forwarder"}, a.Route)
		if (spent.Proxy.CPU > 0) != proxied {
			t.Errorf("%s: a proxy spends %g µs", a.Name, spent.Proxy.CPU)
		}
	}
	const iterations = 30
	for _, name := range []string{"clusterip", "clusterip-again", "clusterip-one-thread", "forwarder", "python-clusterip", "python-clusterip-one-thread", "python-clusterip-async-shared"} {
		a := arm(t, d, name)
		if calls := counts(a.Backends); len(calls) != 3 || slices.Max(calls) != iterations*a.Calls {
			t.Errorf("%s: %v; one of three backends should have every call", name, a.Backends)
		}
	}
	for _, name := range []string{"headless", "endpointslice", "xds", "envoy", "haproxy", "nginx", "python-headless", "python-headless-one-thread", "python-envoy", "python-headless-async-shared"} {
		a := arm(t, d, name)
		calls, even := counts(a.Backends), float64(iterations*a.Calls)/3
		if len(calls) != 3 || float64(slices.Max(calls)) > even*1.05 || float64(slices.Min(calls)) < even*0.95 {
			t.Errorf("%s: %v is not even to within 5 %%", name, a.Backends)
		}
	}
	if len(d.Published) != 30 {
		t.Errorf("%d figures of the study stand beside ours, want 15 in either language", len(d.Published))
	}
}

func TestBalancingShowsPublishedFigures(t *testing.T) {
	t.Parallel()
	_, s := quick(t, "balancing")
	text := strings.Join(strings.Fields(s.stdout), " ")
	for _, sentence := range []string{"401,150", "481,620", "as printed by study 1 of 50 requests of 10,000 calls each", "the way of the study, with other settings", "client gateway"} {
		if !strings.Contains(text, sentence) {
			t.Errorf("the report does not say %q:\n%s", sentence, s.stdout)
		}
	}
}
