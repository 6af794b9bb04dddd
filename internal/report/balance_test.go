package report

import (
	"slices"
	"testing"

	"rpclab/internal/result"
)

func TestBalanceIsExplained(t *testing.T) {
	counts := func(calls ...uint64) map[string]uint64 {
		out := map[string]uint64{}
		for i, n := range calls {
			out[string(rune('a'+i))] = n
		}
		return out
	}
	for _, c := range []struct {
		name, route, channel string
		backends             map[string]uint64
		pattern              string
		p                    float64
		want                 string
	}{
		{"shared over clusterip", "clusterip", "shared", counts(0, 900, 0), oneTakesAll, 0,
			"one HTTP/2 connection carries every call, so one of 3 backends received all"},
		{"a connection that broke", "clusterip", "shared", counts(300, 600, 0), uneven, 0,
			"one HTTP/2 connection carries every call; yet here calls are more uneven than random assignment, the busiest of 3 backends received 2.00 times its fair share (Jain's index 0.50)"},
		{"round robin", "headless", "shared", counts(1000, 1000, 1001), takesTurns, 0,
			"the client knows every backend and takes turns, so calls are even to within 0.1 %"},
		{"round robin, few calls in each trial", "endpointslice", "shared", counts(4, 3, 3), takesTurns, 0.0001,
			"the client knows every backend and takes turns, so calls are even, counts differ by one at most"},
		{"a resolver stuck on one backend", "kuberesolver", "shared", counts(900, 0, 0), oneTakesAll, 0,
			"the client knows every backend and takes turns; yet here one of 3 backends received all"},
		{"a connection for each call", "clusterip", "per-call", counts(310, 290, 300), asChance, 0.42,
			"each call opens a connection, and each connection goes to a random backend, so calls are as uneven as random assignment (p = 0.42)"},
		{"random assignment that looks even", "clusterip", "per-call", counts(1000, 1001, 1002), asChance, 0.99,
			"each call opens a connection, and each connection goes to a random backend, so calls are as uneven as random assignment (p = 0.99)"},
		{"too even for random assignment", "clusterip", "per-call", counts(100000, 100000, 100000), takesTurns, 0.0001,
			"each call opens a connection, and each connection goes to a random backend; yet here calls are even to within 0.1 %"},
		{"pool", "clusterip", "pool of 16", counts(500, 300, 200), uneven, 0,
			"16 connections, each drawn once at random, carry the calls in turn: calls are more uneven than random assignment, the busiest of 3 backends received 1.50 times its fair share (Jain's index 0.50)"},
		{"nodeport, a connection for each call", "nodeport", "per-call", counts(310, 290, 300), asChance, 0.42,
			"each call opens a connection, and each connection goes to a random backend, so calls are as uneven as random assignment (p = 0.42)"},
		{"one address", "direct", "shared", counts(900, 0), oneTakesAll, 0,
			"the client dials one backend by its address, so one of 2 backends received all"},
		{"the user's client", "forwarder", "own", counts(310, 290), asChance, 0.24,
			"the client opens its own connections, which rpclab does not know: calls are as uneven as random assignment (p = 0.24)"},
		{"the user's client, which knows the backends", "headless", "own", counts(900, 0), oneTakesAll, 0,
			"the client opens its own connections, which rpclab does not know: one of 2 backends received all"},
		{"the user's client at one address", "direct", "own", counts(900, 0), oneTakesAll, 0,
			"the client dials one backend by its address, so one of 2 backends received all"},
		{"a route that this version does not know", "mesh", "shared", counts(450, 450), takesTurns, 0,
			"mesh, shared: calls are even to within 0.1 %"},
		{"too few calls", "endpointslice", "shared", counts(4, 3, 3), tooFewCalls, 0.9,
			"the client knows every backend and takes turns; these are too few calls to tell a pattern from random assignment, the busiest of 3 backends received 1.20 times its fair share (Jain's index 0.50)"},
		{"a document without a pattern", "clusterip", "shared", counts(9, 1, 0), "", 0,
			"one HTTP/2 connection carries every call: the busiest of 3 backends received 2.70 times its fair share (Jain's index 0.50)"},
	} {
		arm := onRoute(result.Arm{Name: "x", Route: c.route, Channel: c.channel, Config: map[string]any{"caller": map[string]any{"channel": channelSetting(c.channel)}},
			Measures: result.Measures{Backends: c.backends, Balance: result.Balance{Jain: 0.5, PRandom: c.p, Pattern: c.pattern}}})
		got := balanceOf([]result.Arm{arm})
		if len(got) != 1 || got[0].text != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, got, c.want)
		}
	}
}

// A sweep over caller.channel changes how calls travel from cell to cell.
func TestTheBalanceOfEachCellIsExplainedByItsOwnChannel(t *testing.T) {
	cell := func(channel, pattern string, rate float64, backends map[string]uint64) result.Arm {
		return onRoute(result.Arm{Name: "x", Route: "clusterip", Channel: channel, Cell: result.Cell{"caller.channel": channel, "load.open.rate": rate},
			Config:   map[string]any{"caller": map[string]any{"channel": channelSetting(channel)}},
			Measures: result.Measures{Backends: backends, Balance: result.Balance{Jain: 0.5, PRandom: 0.42, Pattern: pattern}}})
	}
	all, both := map[string]uint64{"a": 900, "b": 0}, map[string]uint64{"a": 460, "b": 440}
	got := balanceOf([]result.Arm{cell("shared", oneTakesAll, 50, all), cell("per-call", asChance, 50, both), cell("per-call", asChance, 100, both), cell("per-call", oneTakesAll, 100, all)})
	want := []statement{
		{"x at channel = shared, rate = 50", "one HTTP/2 connection carries every call, so one of 2 backends received all"},
		{"x at channel = per-call, rate = 50 and channel = per-call, rate = 100",
			"each call opens a connection, and each connection goes to a random backend, so calls are as uneven as random assignment (lowest p = 0.42)"},
		{"x at channel = per-call, rate = 100", "each call opens a connection, and each connection goes to a random backend; yet here one of 2 backends received all"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTheBalanceOfStreamsIsExplained(t *testing.T) {
	for _, c := range []struct {
		caller map[string]any
		want   expectation
	}{
		{map[string]any{"style": "bidi"}, expectation{"a stream stays on the backend where it started", oneTakesAll}},
		{map[string]any{"style": "bidi", "streams": 3.0}, expectation{"each stream stays on the backend where it started", ""}},
		{map[string]any{"stream": map[string]any{}}, expectation{"each stream stays on the backend where it started", ""}},
		{map[string]any{"style": "unary-stream"}, expectation{"the client knows every backend and takes turns", takesTurns}},
	} {
		if got := callPath(onRoute(result.Arm{Route: "headless", Channel: "shared", Config: map[string]any{"caller": c.caller}})); got != c.want {
			t.Errorf("%v: got %v, want %v", c.caller, got, c.want)
		}
	}
}

// Only gRPC and HTTP/2 share a connection between calls, and only if users share it.
func TestTheBalanceOfSeveralConnectionsIsExplained(t *testing.T) {
	const inFlight = "there are as many connections as calls in flight, and each goes to a random backend"
	for _, c := range []struct {
		channel string
		config  map[string]any
		want    expectation
	}{
		{"shared", map[string]any{"caller": map[string]any{"kind": "http"}}, expectation{inFlight, ""}},
		{"shared", map[string]any{"caller": map[string]any{"kind": "python-httpx"}}, expectation{inFlight, ""}},
		{"shared", map[string]any{"caller": map[string]any{"kind": "wire"}, "server": map[string]any{"model": "axum"}}, expectation{inFlight, ""}},
		{"shared", map[string]any{"caller": map[string]any{"kind": "wire"}, "server": map[string]any{"model": "grpc-netty"}}, expectation{"one HTTP/2 connection carries every call", oneTakesAll}},
		{"shared", map[string]any{"caller": map[string]any{"kind": "http", "http2": true}}, expectation{"one HTTP/2 connection carries every call", oneTakesAll}},
		{"shared", map[string]any{"caller": map[string]any{"kind": "python-requests"}}, expectation{"each call opens a connection, and each connection goes to a random backend", asChance}},
		{"per-user", map[string]any{"caller": map[string]any{"kind": "grpc-go", "channel": "per-user"}}, expectation{"each user has a connection, which goes to a random backend and stays there", ""}},
	} {
		if got := callPath(onRoute(result.Arm{Route: "clusterip", Channel: c.channel, Config: c.config})); got != c.want {
			t.Errorf("%s, %v: got %v, want %v", c.channel, c.config, got, c.want)
		}
	}
}

func TestOneBackendOrNoCallsHaveNoBalance(t *testing.T) {
	for name, backends := range map[string]map[string]uint64{"one": {"a": 5}, "no calls": {"a": 0, "b": 0}, "none": nil} {
		if got := balanceOf([]result.Arm{{Measures: result.Measures{Backends: backends}}}); len(got) != 0 {
			t.Errorf("%s: the balance is %v, want none", name, got)
		}
	}
}

// Each trial opens a new connection: the sum over rounds looks even.
func TestSharesAreComputedForEachTrial(t *testing.T) {
	arm := sampleArms()[1].arm(result.Cell{}, 900, 3)
	arm.Backends = map[string]uint64{"greeter-1": 900, "greeter-2": 900, "greeter-3": 900}
	s, ok := callShares(arm)
	if !ok || s.busiest != 1 || s.idlest != 0 {
		t.Errorf("the shares are %+v, want 1 of the busiest backend and 0 of the idlest", s)
	}
}

func TestSharesAreComputedForEachGroupOfATrial(t *testing.T) {
	a := result.Arm{Trials: []result.Trial{{Groups: [][]uint64{{5, 5}, {9, 1}, {0, 0}, {7}}}}}
	s, ok := callShares(a)
	if !ok || s.busiest != 0.7 || s.backends != 2 {
		t.Errorf("the shares are %+v (known: %v), want 0.7 of the busiest of 2 backends", s, ok)
	}
}
