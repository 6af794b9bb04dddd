package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service"
	"rpclab/internal/service/method"
)

// helloAndHealth starts a server with two methods that have the same caller's address.
func helloAndHealth(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, stranger{})
	healthv1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// eachCallerOfMixes opens each caller that makes mixes, of calls of gRPC or of HTTP.
func eachCallerOfMixes(t *testing.T, overGRPC string, calls []service.Spec, overHTTP string, requests []service.Spec, test func(*testing.T, caller.Session)) {
	atHTTP := strings.TrimPrefix(overHTTP, "http://")
	for name, c := range map[string]struct {
		library caller.Caller
		calls   []service.Spec
		address string
	}{
		"grpc-go":        {grpcgo.Caller{}, calls, overGRPC},
		"wire":           {wire.Caller{}, calls, overGRPC},
		"http":           {nethttp.Caller{}, requests, atHTTP},
		"wire over HTTP": {wire.Caller{}, requests, atHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 10 * time.Second, Calls: c.calls}
			test(t, callertest.Open(t, c.library, job, caller.Target{URI: "passthrough:///" + c.address, Close: func() {}}))
		})
	}
}

// TestCallersMakeAMixOfCalls makes calls of two kinds, a tenth of which fail their check.
func TestCallersMakeAMixOfCalls(t *testing.T) {
	overHTTP := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/")+" "+r.Header.Get("number"))
	}))
	t.Cleanup(overHTTP.Close)
	overGRPC := helloAndHealth(t)
	hello := service.Spec{
		Name: "hello", Method: "rpclab.v1.Greeter/SayHello", Data: `{"name": "{{.Number}}"}`, Check: `!answer.message.endsWith("0")`,
		Metadata: map[string][]string{"number": {"{{.Number}}"}}, Weight: 8000,
	}
	healthy := service.Spec{Name: "healthy", Method: "grpc.health.v1.Health/Check", Metadata: map[string][]string{"number": {"x"}}, Weight: 2000}
	get := service.Spec{Name: "hello", HTTP: "GET", Path: "/{{.Number}}", Check: `!answer.endsWith("0 h")`, Metadata: map[string][]string{"number": {"h"}}, Weight: 8000}
	head := service.Spec{Name: "healthy", HTTP: "GET", Path: "/health", Check: `answer == "health x"`, Metadata: map[string][]string{"number": {"x"}}, Weight: 2000}
	eachCallerOfMixes(t, overGRPC, []service.Spec{hello, healthy}, overHTTP.URL, []service.Spec{get, head}, func(t *testing.T, session caller.Session) {
		m := callertest.Load(t, session, pace.Closed{Users: 5, Calls: 100, Duration: time.Minute})
		if got, want := fmt.Sprint(m.ByName["hello"].Calls, m.ByName["hello"].Errors, m.ByName["healthy"].Calls, m.ByName["healthy"].Errors), "80 map[CHECK:8] 20 map[]"; got != want || m.Calls != 100 {
			t.Errorf("%d calls, by name %s, want %s: %v", m.Calls, got, want, m.Samples)
		}
		for name, calls := range m.ByName {
			if calls.Latency == "" {
				t.Errorf("%s has no latency", name)
			}
		}
	})
}

// TestBlocksContinueAMix makes a load in blocks that are shorter than the mix.
func TestBlocksContinueAMix(t *testing.T) {
	overHTTP := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	t.Cleanup(overHTTP.Close)
	overGRPC := helloAndHealth(t)
	hello := service.Spec{Name: "often", Method: "rpclab.v1.Greeter/SayHello", Weight: 49}
	healthy := service.Spec{Name: "seldom", Method: "grpc.health.v1.Health/Check", Weight: 1}
	get, head := service.Spec{Name: "often", HTTP: "GET", Path: "/a", Weight: 49}, service.Spec{Name: "seldom", HTTP: "GET", Path: "/b", Weight: 1}
	eachCallerOfMixes(t, overGRPC, []service.Spec{hello, healthy}, overHTTP.URL, []service.Spec{get, head}, func(t *testing.T, session caller.Session) {
		callertest.Load(t, session, pace.Burst{Calls: 3}) // a warm-up
		seldom := uint64(0)
		for range 10 {
			recorder, _, err := session.Run(t.Context(), pace.Closed{Users: 2, Calls: 10, Duration: time.Minute}, measure.StartSignal{Continues: true})
			if err != nil {
				t.Fatal(err)
			}
			m, err := recorder.Measurement()
			if err != nil {
				t.Fatal(err)
			}
			seldom += m.ByName["seldom"].Calls
		}
		if seldom != 2 {
			t.Errorf("%d of 100 calls are of the kind whose share is 2 %%, want 2", seldom)
		}
	})
}

// TestBlocksUseAllChannelsOfAPool makes a load in blocks that have fewer calls than the pool has channels.
func TestBlocksUseAllChannelsOfAPool(t *testing.T) {
	var mu sync.Mutex
	var used []string // the connection of each call
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, answer grpc.UnaryHandler) (any, error) {
		from, _ := peer.FromContext(ctx)
		mu.Lock()
		used = append(used, from.Addr.String())
		mu.Unlock()
		return answer(ctx, request)
	}))
	rpclabv1.RegisterGreeterServer(server, stranger{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	for name, library := range map[string]caller.Caller{"grpc-go": grpcgo.Caller{}, "wire": wire.Caller{}} {
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			used = nil
			mu.Unlock()
			job := caller.Job{Channels: caller.Channels{Mode: caller.Pool, Pool: 4}, Timeout: 10 * time.Second, Calls: []service.Spec{{Name: "hello", Method: "rpclab.v1.Greeter/SayHello"}}}
			session := callertest.Open(t, library, job, caller.Target{URI: "passthrough:///" + listener.Addr().String(), Close: func() {}})
			for range 4 {
				if m := callertest.Load(t, session, pace.Sequence(2)); m.Calls != 2 || len(m.Errors) > 0 {
					t.Fatalf("%d calls, errors %v, want 2 calls", m.Calls, m.Samples)
				}
			}
			calls := map[string]int{}
			mu.Lock()
			for _, connection := range used {
				calls[connection]++
			}
			mu.Unlock()
			for connection, n := range calls {
				if n != 2 || len(calls) != 4 {
					t.Errorf("%d calls on %s, which is one of %d connections; want 2 on each of 4", n, connection, len(calls))
				}
			}
		})
	}
}

// TestDroppedCallsOfAMixHaveNames: a call that was due and not sent counts for its kind.
func TestDroppedCallsOfAMixHaveNames(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts, so that all calls wait
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	source := helloAndHealth(t)
	for name, library := range map[string]caller.Caller{"grpc-go": grpcgo.Caller{}, "wire": wire.Caller{}} {
		t.Run(name, func(t *testing.T) {
			var calls []service.Spec
			for _, spec := range []service.Spec{{Name: "a", Method: "rpclab.v1.Greeter/SayHello"}, {Name: "b", Method: "grpc.health.v1.Health/Check"}} {
				spec.Protos = described(t, spec, source)
				calls = append(calls, spec)
			}
			job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 300 * time.Millisecond, Calls: calls}
			session := callertest.Open(t, library, job, caller.Target{URI: "passthrough:///" + listener.Addr().String(), Close: func() {}})
			m := callertest.Load(t, session, pace.Rate{PerSecond: 1000, Duration: 100 * time.Millisecond, Max: 2})
			a, b := m.ByName["a"], m.ByName["b"]
			if due := [2]uint64{a.Calls + a.Dropped, b.Calls + b.Dropped}; due != [2]uint64{50, 50} || a.Dropped+b.Dropped != m.Dropped || m.Dropped == 0 {
				t.Errorf("%v calls of each kind were due, %d of %d dropped; want 50 of each, and most of them dropped", due, a.Dropped+b.Dropped, m.Dropped)
			}
		})
	}
}

// described returns the files that define the method of a call.
func described(t *testing.T, spec service.Spec, address string) []byte {
	t.Helper()
	source, err := grpcgo.Describe(t.Context(), spec, caller.Target{URI: "passthrough:///" + address})
	if err != nil {
		t.Fatal(err)
	}
	protos, err := method.Descriptors(source)
	if err != nil {
		t.Fatal(err)
	}
	return protos
}
