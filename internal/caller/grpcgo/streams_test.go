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

// opened is a session until the test ends.
func opened(t *testing.T, j caller.Job, target caller.Target) caller.Session {
	t.Helper()
	return callertest.Open(t, grpcgo.Caller{}, j, target)
}

// growing are greeters a and b behind a resolver, which knows of b once it has grown.
func growing(t *testing.T) (target caller.Target, grow func()) {
	t.Helper()
	config, err := settings.Settings{}.ServiceConfig(settings.RoundRobin)
	if err != nil {
		t.Fatal(err)
	}
	var both []resolver.Endpoint
	for _, id := range []string{"a", "b"} {
		one, _ := serve(t, &workload.Server{ID: id})
		addr := strings.TrimPrefix(one.URI, "passthrough:///")
		both = append(both, resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	m := manual.NewBuilderWithScheme("manual")
	m.InitialState(resolver.State{Endpoints: both[:1]})
	return caller.Target{URI: "manual:///greeter", ServiceConfig: config, Resolvers: []resolver.Builder{m}},
		func() { m.UpdateState(resolver.State{Endpoints: both}) }
}

func TestMessagesOnStreamsAreCalls(t *testing.T) {
	target, connections := serve(t, &workload.Server{ID: "b7", Delay: 10 * time.Millisecond})
	m := run(t, streaming(0), target, 200)
	if m.Backends["b7"] != 200 || len(m.Errors) != 0 || connections() != 1 {
		t.Errorf("answered %v, failed %v %v, over %d connections", m.Backends, m.Errors, m.Samples, connections())
	}
}

func TestAStreamStaysWithItsBackend(t *testing.T) {
	target, grow := growing(t)
	s := opened(t, streaming(0), target)
	callertest.Load(t, s, pace.Sequence(10)) // one after the other, over one stream
	grow()
	if m := callertest.Load(t, s, pace.Sequence(100)); m.Backends["a"] != 100 {
		t.Errorf("answered %v, failed %v", m.Backends, m.Errors)
	}
	streams := 0
	testkit.Await(t, "new streams go to the new backend", func() bool {
		streams += 10
		return callertest.Load(t, s, pace.Burst{Calls: streams}).Backends["b"] > 0
	})
}

func TestRenewedStreamsReachNewBackends(t *testing.T) {
	target, grow := growing(t)
	s := opened(t, streaming(10*time.Millisecond), target)
	callertest.Load(t, s, pace.Burst{Calls: 10})
	grow()
	testkit.Await(t, "messages go to both", func() bool {
		m := callertest.Load(t, s, pace.Closed{Users: 10, Calls: 100})
		if len(m.Errors) != 0 {
			t.Fatalf("failed: %v %v", m.Errors, m.Samples)
		}
		return m.Backends["a"] > 20 && m.Backends["b"] > 20
	})
}

func TestMessagesInFlightFailWithTheirStreamAndNoOthers(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	var mu sync.Mutex
	var conns []net.Conn
	plain := target.Dial
	target.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := plain(ctx, addr)
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c)
		return c, err
	}
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	}
	s := opened(t, streaming(0), target)
	callertest.Load(t, s, pace.Burst{Calls: 5})

	server.SetFault(workload.Fault{Slow: time.Hour})
	begun := count(t, server)
	inFlight := make(chan measure.Measurement, 1)
	go func() { inFlight <- callertest.Load(t, s, pace.Burst{Calls: 3}) }()
	testkit.Await(t, "the server has all three", func() bool { return count(t, server) == begun+3 })
	cut()
	if m := <-inFlight; m.Errors["UNAVAILABLE"] != 3 {
		t.Errorf("in flight: answered %v, failed %v %v", m.Backends, m.Errors, m.Samples)
	}
	server.SetFault(workload.Fault{})
	if m := callertest.Load(t, s, pace.Burst{Calls: 5}); m.Backends["b"] != 5 { // two of them on streams that broke while they were free
		t.Errorf("afterwards: answered %v, failed %v %v", m.Backends, m.Errors, m.Samples)
	}
}

func TestAMessageThatTakesTooLongFails(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	j := streaming(0)
	j.Timeout = 50 * time.Millisecond
	s := opened(t, j, target)
	server.SetFault(workload.Fault{Slow: time.Minute})
	if m := callertest.Load(t, s, pace.Burst{Calls: 3}); m.Errors["DEADLINE_EXCEEDED"] != 3 {
		t.Errorf("answered %v, failed %v %v", m.Backends, m.Errors, m.Samples)
	}
	server.SetFault(workload.Fault{})
	testkit.Await(t, "the next are answered", func() bool { return callertest.Load(t, s, pace.Burst{Calls: 3}).Backends["b"] == 3 })
}

func TestAMessageIsAnsweredWithAnErrorByTheStreamsEnd(t *testing.T) {
	server := &workload.Server{ID: "b"}
	target, _ := serve(t, server)
	s := opened(t, streaming(0), target)
	callertest.Load(t, s, pace.Burst{Calls: 3})
	server.SetFault(workload.Fault{Code: codes.ResourceExhausted})
	if m := callertest.Load(t, s, pace.Burst{Calls: 3}); m.Errors["RESOURCE_EXHAUSTED"] != 3 {
		t.Errorf("answered %v, failed %v %v", m.Backends, m.Errors, m.Samples)
	}
}
