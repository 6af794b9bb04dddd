package analysis

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/result"
)

// runOfService is a run of an arm that calls a service.
func runOfService(t *testing.T, change func(*result.Service)) result.Document {
	t.Helper()
	d := runOf(t, 10, 10, 10, 10)
	s := result.Service{
		Calls:  map[string]result.ServiceCall{"get": {Method: "shop.Orders/Get", DataHash: "12ab", Check: "answer.ok", Metadata: []string{"authorization"}}},
		Server: result.ServiceServer{Command: []string{"./shop", "{{.Address}}"}},
	}
	change(&s)
	d.Arms[0].Config = map[string]any{"service": "shop", "workload": map[string]any{"call": "get"}}
	d.Arms[0].OwnService = &s
	return d
}

func call(change func(*result.ServiceCall)) func(*result.Service) {
	return func(s *result.Service) {
		changed := s.Calls["get"]
		change(&changed)
		s.Calls["get"] = changed
	}
}

// A gate would pass or fail because the call is another one.
func TestAnArmWithAnotherCallIsNotCompared(t *testing.T) {
	for what, change := range map[string]func(*result.ServiceCall){
		"calls.get.method: shop.Orders/Get in A, shop.Orders/Head in B":               func(c *result.ServiceCall) { c.Method = "shop.Orders/Head" },
		"calls.get.data_hash: 12ab in A, not set in B":                                func(c *result.ServiceCall) { c.DataHash = "" },
		"calls.get.check: answer.ok in A, not set in B":                               func(c *result.ServiceCall) { c.Check = "" },
		"calls.get.stream.messages: not set in A, 3 in B":                             func(c *result.ServiceCall) { c.Stream = &result.ServiceCallStream{Messages: 3} },
		`calls.get.metadata: ["authorization"] in A, ["authorization","x-size"] in B`: func(c *result.ServiceCall) { c.Metadata = append(c.Metadata, "x-size") },
	} {
		path, _, _ := strings.Cut(what, ": ")
		a, b := runOfService(t, func(*result.Service) {}), runOfService(t, call(change))
		c := Compare(a, b, CompareOptions{Gates: gates(t, "p50 ratio < 2")})
		if want := what + " (--allow " + path + " if that is what you compare)"; len(c.Gates) > 0 || len(c.Refused) != 1 || c.Refused[0].Reason != want {
			t.Errorf("refused are %+v, want the reason %q", c.Refused, want)
		}
		if len(Compare(a, b, CompareOptions{Allow: []string{"calls"}}).Ratios) == 0 {
			t.Errorf("%s: the runs are not compared, although --allow names the difference", path)
		}
	}
}

// Two versions of a server are what users compare.
func TestAnotherServerIsListedAndCompared(t *testing.T) {
	a := runOfService(t, func(*result.Service) {})
	b := runOfService(t, func(s *result.Service) { s.Server = result.ServiceServer{Image: "shop:2"}; s.TLS = true })
	c := Compare(a, b, CompareOptions{})
	want := []result.Difference{
		{Kind: "setting", What: "server.command", Arm: "shared", A: `["./shop","{{.Address}}"]`},
		{Kind: "setting", What: "server.image", Arm: "shared", B: "shop:2"},
		{Kind: "setting", What: "tls", Arm: "shared", B: "true"},
	}
	if diff := cmp.Diff(want, c.Differences); diff != "" || len(c.Ratios) == 0 {
		t.Errorf("%d ratios, and differences (-want +got):\n%s", len(c.Ratios), diff)
	}
	if _, err := MergeRuns([]result.Document{a, b}); err == nil || !strings.Contains(err.Error(), "server.command is") {
		t.Errorf("runs of two servers are merged: %v", err)
	}
}

func TestWhatAnEarlierVersionDidNotRecordDoesNotDiffer(t *testing.T) {
	before := runOfService(t, func(*result.Service) {})
	before.Arms[0].OwnService = nil
	if c := Compare(before, runOfService(t, func(*result.Service) {}), CompareOptions{}); len(c.Ratios) == 0 || len(c.Differences) > 0 {
		t.Errorf("refused are %+v, and differences %+v; want none", c.Refused, c.Differences)
	}
	load := func(settings map[string]any) result.Document {
		d := runOf(t, 10, 10, 10, 10)
		d.Arms[0].Config = map[string]any{"engine": "wire", "call": "shop.Orders/Get"}
		maps.Copy(d.Arms[0].Config, settings)
		return d
	}
	sent := load(map[string]any{"data_hash": "12ab", "metadata": []any{}})
	if c := Compare(load(nil), sent, CompareOptions{}); len(c.Ratios) == 0 || len(c.Differences) > 0 {
		t.Errorf("a load: refused are %+v, and differences %+v; want none", c.Refused, c.Differences)
	}
	if c := Compare(load(map[string]any{"data_hash": "34cd", "metadata": []any{}}), sent, CompareOptions{}); len(c.Refused) != 1 || !strings.HasPrefix(c.Refused[0].Reason, "data_hash: 34cd in A, 12ab in B") {
		t.Errorf("a load with other data: refused are %+v", c.Refused)
	}
}

// The version before and after are often at two addresses. The address is no part of the call, over HTTP as over gRPC.
func TestLoadsOfTwoAddressesAreCompared(t *testing.T) {
	load := func(call, target string) result.Document {
		d := runOf(t, 10, 10, 10, 10)
		d.Experiment = "load"
		d.Arms[0].Config = map[string]any{"engine": "wire", "call": call, "target": target}
		return d
	}
	blue := load("GET http://blue:80/v1/x?of=7", "http://blue:80/v1/x?of=7")
	green := load("GET https://green/v1/x?of=7", "https://green/v1/x?of=7")
	c := Compare(blue, green, CompareOptions{Gates: gates(t, "p50 ratio < 2")})
	want := []result.Difference{{Kind: "setting", What: "target", Arm: "shared", A: "http://blue:80/v1/x?of=7", B: "https://green/v1/x?of=7"}}
	if diff := cmp.Diff(want, c.Differences); diff != "" || len(c.Gates) != 1 || len(c.Refused) > 0 {
		t.Errorf("%d gates, refused are %+v, and differences (-want +got):\n%s", len(c.Gates), c.Refused, diff)
	}
	if c := Compare(load("GET http://blue", ""), load("GET http://green/", ""), CompareOptions{}); len(c.Refused) > 0 {
		t.Errorf("no path and /: refused are %+v", c.Refused)
	}
	for call, want := range map[string]string{
		"GET http://green/v1/y":         "call: GET /v1/x?of=7 in A, GET /v1/y in B",
		"GET http://green/v1/x?of=8":    "call: GET /v1/x?of=7 in A, GET /v1/x?of=8 in B",
		"HEAD http://blue:80/v1/x?of=7": "call: GET /v1/x?of=7 in A, HEAD /v1/x?of=7 in B",
		"shop.Orders/Get":               "call: GET /v1/x?of=7 in A, shop.Orders/Get in B",
	} {
		c := Compare(blue, load(call, "http://blue:80/v1/x?of=7"), CompareOptions{})
		if len(c.Refused) != 1 || !strings.HasPrefix(c.Refused[0].Reason, want+" (--allow call") {
			t.Errorf("%s: refused are %+v, want %s", call, c.Refused, want)
		}
	}
	if _, err := MergeRuns([]result.Document{blue, green}); err == nil || !strings.Contains(err.Error(), "target is") {
		t.Errorf("loads of two addresses are merged: %v", err)
	}
}

// Events are what the load meets: without the kill, no call fails.
func TestArmsWithOtherEventsAreNotCompared(t *testing.T) {
	with := func(events ...result.Event) result.Document {
		d := runOf(t, 10, 10, 10, 10)
		for i := range d.Arms[0].Trials {
			d.Arms[0].Trials[i].Events = events
		}
		return d
	}
	kill := func(due float64) result.Event { return result.Event{What: "kill 2", AtMS: due + 0.3, DueMS: &due} }
	scale := result.Event{What: "scale 4", Error: "the load ended before the event"}
	for want, c := range map[string]struct{ a, b result.Document }{
		"events: kill 2 at 200ms in A, not set in B":        {with(kill(200)), with()},
		"events: kill 2 at 200ms in A, kill 2 at 1.5s in B": {with(kill(200)), with(kill(1500))},
		"events: kill 2 in A, kill 2, scale 4 in B":         {with(kill(200)), with(kill(200), scale)}, // of an earlier version
	} {
		want += " (--allow events if that is what you compare)"
		if got := Compare(c.a, c.b, CompareOptions{}); len(got.Ratios) > 0 || len(got.Refused) != 1 || got.Refused[0].Reason != want {
			t.Errorf("refused are %+v, want the reason %q", got.Refused, want)
		}
		if got := Compare(c.a, c.b, CompareOptions{Allow: []string{"events"}}); len(got.Ratios) == 0 || len(got.Differences) != 1 {
			t.Errorf("%s: with --allow events there are %d ratios, and the differences %+v; want some, and one", want, len(got.Ratios), got.Differences)
		}
		if _, err := MergeRuns([]result.Document{c.a, c.b}); err == nil {
			t.Errorf("%s: the runs are merged", want)
		}
	}
	failed := with()
	for i := range failed.Arms[0].Trials {
		failed.Arms[0].Trials[i].Failed = "the server did not start"
	}
	older := kill(0)
	older.DueMS = nil
	for name, c := range map[string]struct{ a, b result.Document }{
		"the same, of two versions": {with(older), with(kill(200))}, "unknown": {with(kill(200)), failed},
	} {
		if got := Compare(c.a, c.b, CompareOptions{}); len(got.Refused) > 0 || len(got.Differences) > 0 {
			t.Errorf("%s: refused are %+v, and the differences %+v; want none", name, got.Refused, got.Differences)
		}
	}
}

func TestAnotherDesignIsListed(t *testing.T) {
	b := runOf(t, 10, 10, 10, 10)
	b.Design = "interleaved"
	c := Compare(runOf(t, 10, 10, 10, 10), b, CompareOptions{})
	want := []result.Difference{{Kind: "run", What: "design", A: "isolated", B: "interleaved"}}
	if diff := cmp.Diff(want, c.Differences); diff != "" || len(c.Ratios) == 0 {
		t.Errorf("%d ratios, and differences (-want +got):\n%s", len(c.Ratios), diff)
	}
}
