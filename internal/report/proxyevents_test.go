package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// ended is a run in which rpclab killed a proxy or the control plane.
func ended(route string, all ...result.Event) string {
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
	text := ended("envoy", killed)
	for _, want := range []string{
		"| mine | 0 | ≤ 100 | 48.0 | 1,100 |", "first loss | proxy ready | recovered",
		"time until the proxy was ready, and until its clients got answers again: mine 48.0 and 1,100 ms. The difference is the reconnect delay of the clients: grpc-go reconnects at once",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	killed.Took.Recovered = ms2(200)
	if text := ended("envoy", killed); strings.Contains(text, "got answers again") {
		t.Errorf("nobody waited, yet\n%s", text)
	}
}

func TestAChangeAfterTheLossOfTheControlPlaneIsDiscoveredOrNot(t *testing.T) {
	killed := result.Event{AtMS: 1000, What: "kill control", Action: result.ActionKillControl}
	grown := result.Event{AtMS: 2000, What: "scale 5", Action: result.ActionScale, Count: 5, Took: result.Took{EndpointReady: ms2(80)}}
	if text := ended("xds", killed, grown); !strings.Contains(text, "keep the backends that they know. Clients did not discover the next change (scale 5): no new backend got a call") {
		t.Errorf("not followed:\n%s", text)
	}
	grown.Took.FirstCall = ms2(90)
	if text := ended("xds", killed, grown); !strings.Contains(text, "Clients still discovered the next change (scale 5), after 90.0 ms") {
		t.Errorf("followed:\n%s", text)
	}
	// That fewer backends get calls says nothing of who told whom.
	shrunk := result.Event{AtMS: 2000, What: "scale 1", Action: result.ActionScale, Count: 1, Affected: []string{"greeter-2"}, Ready: 2, Took: result.Took{EndpointReady: ms2(80)}}
	if text := ended("xds", killed, shrunk); !strings.Contains(text, "keep the backends that they know") || strings.Contains(text, "next change") {
		t.Errorf("fewer backends:\n%s", text)
	}
}
