package wire_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const roundRobin = `{"loadBalancingConfig":[{"round_robin":{}}]}`

func startBackend(t *testing.T, id string) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &workload.Server{ID: id, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func open(t *testing.T, channels caller.Channels, target caller.Target) caller.Session {
	t.Helper()
	return callertest.Open(t, wire.Caller{}, caller.Job{
		Channels: channels, Timeout: time.Minute, Workload: workload.Spec{Greet: &workload.Greet{}},
	}, target)
}

var everyChannel = map[string]caller.Channels{
	"per call": {Mode: caller.PerCall}, "shared": {Mode: caller.Shared}, "pool": {Mode: caller.Pool, Pool: 4},
}

func TestCallsAreAnsweredOverEveryKindOfChannel(t *testing.T) {
	addr := startBackend(t, "b1")
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	for kind, channels := range everyChannel {
		for route, target := range map[string]caller.Target{
			"an address": {URI: "passthrough:///" + addr},
			"a dialer":   {URI: "passthrough:///virtual:1", Dial: dial},
			"DNS":        {URI: "dns:///" + addr, ServiceConfig: roundRobin},
		} {
			t.Run(kind+" by "+route, func(t *testing.T) {
				m := callertest.Load(t, open(t, channels, target), pace.Burst{Calls: 200})
				if m.Backends["b1"] != 200 || m.CPU <= 0 {
					t.Errorf("backends %v, errors %v %v, CPU time %v; want 200 calls by b1 with CPU time", m.Backends, m.Errors, m.Samples, m.CPU)
				}
			})
		}
	}
}

func state(addrs ...string) resolver.State {
	var found resolver.State
	for _, a := range addrs {
		found.Endpoints = append(found.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	return found
}

func TestCallsFollowTheResolver(t *testing.T) {
	addrA, addrB, addrC := startBackend(t, "a"), startBackend(t, "b"), startBackend(t, "c")
	for kind, channels := range everyChannel {
		t.Run(kind, func(t *testing.T) {
			builder := manual.NewBuilderWithScheme("manual")
			builder.InitialState(state(addrA, addrB))
			session := open(t, channels, caller.Target{URI: "manual:///service", ServiceConfig: roundRobin, Resolvers: []resolver.Builder{builder}})
			testkit.Await(t, "calls go to a and b", func() bool {
				got := callertest.Load(t, session, pace.Sequence(20)).Backends
				return len(got) == 2 && got["a"] > 0 && got["b"] > 0
			})
			builder.UpdateState(state(addrB, addrC))
			testkit.Await(t, "calls go to b and c", func() bool {
				got := callertest.Load(t, session, pace.Sequence(20)).Backends
				return len(got) == 2 && got["b"] > 0 && got["c"] > 0
			})
		})
	}
}

func TestPickFirstCallsTheFirstBackendOnly(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	m := manual.NewBuilderWithScheme("manual")
	m.InitialState(state(a, b))
	s := open(t, caller.Channels{Mode: caller.Pool, Pool: 3}, caller.Target{URI: "manual:///service", Resolvers: []resolver.Builder{m}})
	if got := callertest.Load(t, s, pace.Burst{Calls: 30}).Backends; got["a"] != 30 {
		t.Errorf("the backends are %v, want 30 calls by a", got)
	}
}

// gRPC shuffles the addresses of each channel (gRFC A62).
func TestPickFirstShufflesTheAddressesOfEachChannel(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	for kind, channels := range map[string]caller.Channels{"pool": {Mode: caller.Pool, Pool: 32}, "per call": {Mode: caller.PerCall}} {
		m := manual.NewBuilderWithScheme("manual")
		m.InitialState(state(a, b))
		s := open(t, channels, caller.Target{URI: "manual:///service", Resolvers: []resolver.Builder{m}, ServiceConfig: `{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}`})
		if got := callertest.Load(t, s, pace.Burst{Calls: 320}).Backends; got["a"] == 0 || got["b"] == 0 || got["a"]+got["b"] != 320 {
			t.Errorf("%s: the backends are %v, want calls by both", kind, got)
		}
	}
}

func TestCallsWithoutAnAddressReportTheCause(t *testing.T) {
	m := manual.NewBuilderWithScheme("manual")
	m.InitialState(resolver.State{})
	s := open(t, caller.Channels{Mode: caller.Shared}, caller.Target{URI: "manual:///service", Resolvers: []resolver.Builder{m}})
	got := callertest.Load(t, s, pace.Burst{Calls: 3})
	if got.Errors["UNAVAILABLE"] != 3 || got.Samples["UNAVAILABLE"] != "no address to connect to" {
		t.Errorf("errors %v %v, want 3 of UNAVAILABLE that say no address to connect to", got.Errors, got.Samples)
	}
}

func TestOpenRejectsUnsupportedJobs(t *testing.T) {
	for want, job := range map[string]struct {
		uri, config string
		workload    workload.Spec
	}{
		`no resolver for the scheme "carrier-pigeon"`: {"carrier-pigeon:///x", "", workload.Spec{Greet: &workload.Greet{}}},
		"service config": {"passthrough:///x", "{", workload.Spec{Greet: &workload.Greet{}}},
		"workload":       {"passthrough:///x", "", workload.Spec{}},
	} {
		_, err := wire.Caller{}.Open(caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Workload: job.workload},
			caller.Target{URI: job.uri, ServiceConfig: job.config})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// The calls of fibonacci have different requests; each response is checked against its request.
func TestCallsOfEveryWorkloadAreAnswered(t *testing.T) {
	addr := startBackend(t, "b1")
	for name, spec := range map[string]workload.Spec{
		"greet":     {Greet: &workload.Greet{}},
		"fibonacci": {Fibonacci: &workload.Fibonacci{From: 80, To: 90}},
		"increment": {Increment: &workload.Increment{}},
	} {
		t.Run(name, func(t *testing.T) {
			session, err := wire.Caller{}.Open(caller.Job{
				Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Workload: spec,
			}, caller.Target{URI: "passthrough:///" + addr})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if m := callertest.Load(t, session, pace.Burst{Calls: 50}); m.Backends["b1"] != 50 {
				t.Errorf("backends %v, errors %v %v; want 50 calls by b1", m.Backends, m.Errors, m.Samples)
			}
		})
	}
}

func TestOpenRejectsXDSWithAHint(t *testing.T) {
	_, err := wire.Caller{}.Open(caller.Job{
		Channels: caller.Channels{Mode: "shared"}, Workload: workload.Spec{Greet: &workload.Greet{}},
	}, caller.Target{URI: "xds:///greeter"})
	if err == nil || !strings.Contains(err.Error(), "set caller.kind to grpc-go") {
		t.Errorf("the error is %v, want a hint to set caller.kind to grpc-go", err)
	}
}
