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

func TestXDSUsesAnotherZoneWhileItsOwnIsDown(t *testing.T) {
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
	end() // it stays published: clients find out by themselves
	expect("with the own zone down", "b2", "b3")
	g.serve(1, &workload.Server{}, "zone-0")
	expect("with it up again", "b1")
}

func TestXDSClientsKeepWhatTheyKnowWhenTheControlPlaneIsKilled(t *testing.T) {
	g := startGreeters(t, 3)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	standing := g.stand(r, settings.Settings{})
	var heard news
	target, err := r.Open(t.Context(), standing.ServiceFor(0), settings.Settings{}, heard.told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Close)
	cc := g.channel(target)
	knowsAll := func() (bool, string) {
		ids := answering(t.Context(), cc)
		return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprint(ids)
	}
	eventually(t, knowsAll)
	if err := standing.Components[0].Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	g.start(4)
	for range 5 {
		if ok, saw := knowsAll(); !ok {
			t.Fatalf("%s answer without a control plane, want b1, b2 and b3", saw)
		}
	}
	if told := heard.last(); len(told) != 3 {
		t.Errorf("told %v, want the last that was said", told)
	}
}

func TestXDSWithoutAControlPlane(t *testing.T) {
	g := startGreeters(t, 1)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), g.service, settings.Settings{}, nil); err == nil || !strings.Contains(err.Error(), "rpclab xds") {
		t.Errorf("error %v, want one that says how to start it", err)
	}
}

func TestXDSSaysWhatItCannotRetry(t *testing.T) {
	g := startGreeters(t, 1)
	r, err := route.Lookup("xds")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Start(t.Context(), g.service, settings.Settings{Retry: &settings.Retry{Attempts: 2, Codes: []string{"ABORTED"}}}, route.Host{})
	if err == nil || !strings.Contains(err.Error(), "xDS cannot retry ABORTED") {
		t.Errorf("error %v, want one that says what it can", err)
	}
}
