package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// reportOf is the report on a run in which rpclab killed a proxy or the control plane.
func reportOf(route string, all ...result.Event) string {
	d := result.Document{Events: all, Arms: []result.Arm{{
		Name: "mine", Route: route, Config: map[string]any{"caller": map[string]any{"kind": "grpc-go"}},
	}}}
	for i := range d.Events {
		d.Events[i].Arm, d.Events[i].Round = "mine", 1
	}
	var p page
	events(&p, d)
	var out strings.Builder
	_ = writeMarkdown(&out, p)
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestAReconnectDelayAfterAKilledProxyIsNamed(t *testing.T) {
	killed := result.Event{AtMS: 1000, What: "kill proxy", Action: result.ActionKillProxy, Took: result.Took{FirstLoss: ms2(100), ProxyReady: ms2(48), Recovered: ms2(1100)}}
	text := reportOf("envoy", killed)
	for _, want := range []string{
		"| mine | 0 | ≤ 100 | 48.0 | 1,100 |", "first loss | proxy ready | recovered",
		"time until the proxy was ready, and until its clients received responses again: mine 48.0 and 1,100 ms. The difference is the reconnect delay of the clients: grpc-go reconnects at once",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
	killed.Took.Recovered = ms2(200)
	if text := reportOf("envoy", killed); strings.Contains(text, "received responses again") {
		t.Errorf("no client waited, but the report has a reconnect delay:\n%s", text)
	}
	killed.Took.Recovered = ms2(500)
	arm := result.Arm{Name: "mine", Measures: result.Measures{Latency: result.Histogram{P50: 300}}}
	killed.Arm, killed.Round = "mine", 1
	d := result.Document{Arms: []result.Arm{arm}, Events: []result.Event{killed}}
	if text := slowReconnects(d, eventOutcomes(d.Arms, eventsByArm(d))); text != "" {
		t.Errorf("calls take 300 ms, so the clients did not wait, but the report has a reconnect delay: %s", text)
	}
}

func TestAChangeAfterTheLossOfTheControlPlaneIsDiscoveredOrNot(t *testing.T) {
	killed := result.Event{AtMS: 1000, What: "kill control", Action: result.ActionKillControl}
	grown := result.Event{AtMS: 2000, What: "scale 5", Action: result.ActionScale, Count: 5, Took: result.Took{EndpointReady: ms2(80)}}
	if text := reportOf("xds", killed, grown); !strings.Contains(text, "keep the backends that they know. Clients did not discover the next change (scale 5): no new backend received a call") {
		t.Errorf("the report does not say that clients did not discover the change:\n%s", text)
	}
	grown.Took.FirstCall = ms2(90)
	if text := reportOf("xds", killed, grown); !strings.Contains(text, "Clients still discovered the next change (scale 5), after 90.0 ms") {
		t.Errorf("the report does not say that clients discovered the change:\n%s", text)
	}
	// Clients also stop calling removed backends without a resolver update.
	shrunk := result.Event{AtMS: 2000, What: "scale 1", Action: result.ActionScale, Count: 1, Affected: []string{"greeter-2"}, Ready: 2, Took: result.Took{EndpointReady: ms2(80)}}
	if text := reportOf("xds", killed, shrunk); !strings.Contains(text, "keep the backends that they know") || strings.Contains(text, "next change") {
		t.Errorf("the report says whether clients discovered the removal of backends, which is not known:\n%s", text)
	}
}
