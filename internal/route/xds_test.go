package route_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/workload"
)

func TestXDSUsesOtherZonesWhileItsOwnIsDown(t *testing.T) {
	g := startGreeters(t, 0)
	end := g.serve(1, &workload.Server{}, "zone-0")
	g.serve(2, &workload.Server{}, "zone-1")
	g.serve(3, &workload.Server{}, "zone-2")
	target, _ := g.open("xds")
	cc := g.channel(target)
	expect := func(when string, want ...string) {
		t.Helper()
		eventually(t, func() (bool, string) {
			ids := slices.Sorted(maps.Keys(greeted(t.Context(), cc, 30, 1)))
			return slices.Equal(ids, want), fmt.Sprintf("%s: %v, want %v", when, ids, want)
		})
	}
	expect("at first", "b1")
	end() // its endpoint stays published: clients must detect the failure
	expect("while zone-0 is down", "b2", "b3")
	g.serve(1, &workload.Server{}, "zone-0")
	expect("after zone-0 has restarted", "b1")
}

func TestXDSClientsKeepTheirEndpointsWhenTheControlPlaneIsKilled(t *testing.T) {
	g := startGreeters(t, 3)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	infrastructure := g.startInfrastructure(r, settings.Settings{})
	var updates resolverUpdates
	target, err := r.Open(t.Context(), infrastructure.ServiceFor(0), settings.Settings{}, updates.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Close)
	cc := g.channel(target)
	allAnswer := func() (bool, string) {
		ids := answering(t.Context(), cc)
		return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprint(ids)
	}
	eventually(t, allAnswer)
	if err := infrastructure.Components[0].Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	g.start(4)
	for range 5 {
		if ok, saw := allAnswer(); !ok {
			t.Fatalf("%s answer without a control plane, want b1, b2 and b3", saw)
		}
	}
	if addrs := updates.last(); len(addrs) != 3 {
		t.Errorf("the last resolver update is %v, want the 3 addresses from before the kill", addrs)
	}
}

func TestXDSErrorWithoutAControlPlaneSaysHowToStartOne(t *testing.T) {
	g := startGreeters(t, 1)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), g.service, settings.Settings{}, nil); err == nil || !strings.Contains(err.Error(), "rpclab xds") {
		t.Errorf("error %v, want one that says rpclab xds", err)
	}
}

func TestXDSRejectsACodeThatItCannotRetry(t *testing.T) {
	g := startGreeters(t, 1)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Start(t.Context(), g.service, settings.Settings{Retry: &settings.Retry{Attempts: 2, Codes: []string{"ABORTED"}}}, route.Host{})
	const want = "xDS cannot retry ABORTED"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
