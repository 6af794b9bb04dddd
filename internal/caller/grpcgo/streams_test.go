package grpcgo_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func streaming(renew time.Duration) caller.Job {
	j := job(caller.Channels{Mode: caller.Shared})
	j.Stream = &caller.Stream{Renew: renew}
	return j
}

// open opens a session that is closed when the test ends.
func open(t *testing.T, job caller.Job, target caller.Target) caller.Session {
	t.Helper()
	return callertest.Open(t, grpcgo.Caller{}, job, target)
}

// growing starts the greeters a and b. The target's resolver returns a, and both after addB.
func growing(t *testing.T) (target caller.Target, addB func()) {
	t.Helper()
	config, err := settings.Settings{}.ServiceConfig(settings.RoundRobin)
	if err != nil {
		t.Fatal(err)
	}
	var both []resolver.Endpoint
	for _, id := range []string{"a", "b"} {
		backend, _ := serve(t, &workload.Server{ID: id})
		addr := strings.TrimPrefix(backend.URI, "passthrough:///")
		both = append(both, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	builder := manual.NewBuilderWithScheme("manual")
	builder.InitialState(resolver.State{Endpoints: both[:1]})
	return caller.Target{URI: "manual:///greeter", ServiceConfig: config, Resolvers: []resolver.Builder{builder}},
		func() { builder.UpdateState(resolver.State{Endpoints: both}) }
}

func TestEveryMessageOnAStreamCountsAsACall(t *testing.T) {
	target, connections := serve(t, &workload.Server{ID: "b7", Delay: 10 * time.Millisecond})
	m := run(t, streaming(0), target, 200)
	if m.Backends["b7"] != 200 || len(m.Errors) != 0 || connections() != 1 {
		t.Errorf("backends %v, errors %v %v, %d connections; want 200 calls by b7 over 1 connection", m.Backends, m.Errors, m.Samples, connections())
	}
}

func TestAStreamStaysWithItsBackend(t *testing.T) {
	target, addB := growing(t)
	session := open(t, streaming(0), target)
	callertest.Load(t, session, pace.Sequence(10)) // needs one stream
	addB()
	if m := callertest.Load(t, session, pace.Sequence(100)); m.Backends["a"] != 100 {
		t.Errorf("backends %v, errors %v; want 100 calls by a", m.Backends, m.Errors)
	}
	streams := 0
	testkit.Await(t, "new streams go to the new backend", func() bool {
		streams += 10
		return callertest.Load(t, session, pace.Burst{Calls: streams}).Backends["b"] > 0
	})
}

func TestRenewedStreamsReachNewBackends(t *testing.T) {
	target, addB := growing(t)
	session := open(t, streaming(10*time.Millisecond), target)
	callertest.Load(t, session, pace.Burst{Calls: 10})
	addB()
	testkit.Await(t, "messages reach both backends", func() bool {
		got := callertest.Load(t, session, pace.Closed{Users: 10, Calls: 100})
		if len(got.Errors) != 0 {
			t.Fatalf("errors %v %v, want none", got.Errors, got.Samples)
		}
		return got.Backends["a"] > 20 && got.Backends["b"] > 20
	})
}

func TestOnlyMessagesInFlightFailWithTheirStream(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	var mu sync.Mutex
	var conns []net.Conn
	dial := target.Dial
	target.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := dial(ctx, addr)
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, conn)
		return conn, err
	}
	closeConnections := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	}
	session := open(t, streaming(0), target)
	callertest.Load(t, session, pace.Burst{Calls: 5})

	server.SetFault(workload.Fault{Slow: time.Hour})
	begun := count(t, server)
	inFlight := make(chan measure.Measurement, 1)
	go func() { inFlight <- callertest.Load(t, session, pace.Burst{Calls: 3}) }()
	testkit.Await(t, "the server has begun all three calls", func() bool { return count(t, server) == begun+3 })
	closeConnections()
	if m := <-inFlight; m.Errors["UNAVAILABLE"] != 3 {
		t.Errorf("in flight: backends %v, errors %v %v; want 3 of UNAVAILABLE", m.Backends, m.Errors, m.Samples)
	}
	server.SetFault(workload.Fault{})
	if m := callertest.Load(t, session, pace.Burst{Calls: 5}); m.Backends["b"] != 5 { // 2 of the 5 streams broke while they were free
		t.Errorf("afterwards: backends %v, errors %v %v; want 5 calls by b", m.Backends, m.Errors, m.Samples)
	}
}

func TestAMessageFailsAtItsDeadline(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	j := streaming(0)
	j.Timeout = 50 * time.Millisecond
	session := open(t, j, target)
	server.SetFault(workload.Fault{Slow: time.Minute})
	if m := callertest.Load(t, session, pace.Burst{Calls: 3}); m.Errors["DEADLINE_EXCEEDED"] != 3 {
		t.Errorf("backends %v, errors %v %v; want 3 of DEADLINE_EXCEEDED", m.Backends, m.Errors, m.Samples)
	}
	server.SetFault(workload.Fault{})
	testkit.Await(t, "the next calls are answered", func() bool { return callertest.Load(t, session, pace.Burst{Calls: 3}).Backends["b"] == 3 })
}

func TestTheStatusOfAStreamIsTheErrorOfItsMessage(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	s := open(t, streaming(0), target)
	callertest.Load(t, s, pace.Burst{Calls: 3})
	server.SetFault(workload.Fault{Code: codes.ResourceExhausted})
	if m := callertest.Load(t, s, pace.Burst{Calls: 3}); m.Errors["RESOURCE_EXHAUSTED"] != 3 {
		t.Errorf("backends %v, errors %v %v; want 3 of RESOURCE_EXHAUSTED", m.Backends, m.Errors, m.Samples)
	}
}
