package route_test

import (
	"fmt"
	"slices"
	"testing"

	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// A route to a virtual IP or node port dials that address and does not use the API.
func TestRoutesDialTheVirtualIPAndTheNodePort(t *testing.T) {
	for _, name := range []string{"clusterip", "linkerd", "istio", "nodeport"} {
		t.Run(name, func(t *testing.T) {
			g := startGreeters(t, 2)
			g.service.API = "http://127.0.0.1:1"
			g.service.VIP, g.service.NodePort = "127.0.77.2", fmt.Sprint("127.0.77.2:", g.port)
			target, _ := g.open(name)
			if ids := answering(t.Context(), g.channel(target)); !slices.Equal(ids, []string{"b2"}) {
				t.Errorf("%v answer, want b2", ids)
			}
		})
	}
}

// The system's resolver completes names; rpclab's name server knows only full names.
func TestHeadlessUsesTheClustersNameServerOrTheSystems(t *testing.T) {
	r, err := route.Lookup("headless")
	if err != nil {
		t.Fatal(err)
	}
	g := startGreeters(t, 1)
	for dns, want := range map[string]string{
		"":             fmt.Sprintf("dns:///%s:%d", g.service.Host, g.port),
		"127.0.0.1:53": fmt.Sprintf("dns://127.0.0.1:53/%s.:%d", g.service.Host, g.port),
	} {
		g.service.DNS = dns
		target, err := r.Open(t.Context(), g.service, settings.Settings{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if target.URI != want {
			t.Errorf("with the name server %q the target is %s, want %s", dns, target.URI, want)
		}
		target.Close()
	}
}
