package faultproxy_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/process/netcut"
	"rpclab/internal/testkit"
	"rpclab/internal/wire"
	"rpclab/internal/wire/wiretest"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proxied starts a proxy before an address until the test ends, with TLS if it has a configuration.
func proxied(t *testing.T, backend string, secured ...*faultproxy.TLS) (proxy *faultproxy.Proxy, address string) {
	t.Helper()
	listener, err := netcut.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy = faultproxy.New(backend)
	for _, config := range secured {
		if err := proxy.UseTLS(*config); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		proxy.Serve(ctx, listener)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return proxy, listener.Addr().String()
}

// serve starts a server until the test ends, or stop is called.
func serve(t *testing.T, server *workload.Server) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String(), serveOn(t, listener, server)
}

// serveOn is serve at a listener.
func serveOn(t *testing.T, listener net.Listener, server *workload.Server) (stop func()) {
	server.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = server.Serve(ctx, listener)
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// dial opens a channel until the test ends.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}

// greet makes a call and returns its trailer and how long it took.
func greet(t *testing.T, channel *grpc.ClientConn, name string) (md metadata.MD, took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(t.Context(), &rpclabv1.HelloRequest{Name: name}, grpc.Trailer(&md))
	if err == nil && !strings.Contains(reply.Message, name) {
		t.Errorf("the answer has %d bytes, want it to contain the name", len(reply.Message))
	}
	return md, time.Since(began), err
}

// Whatever a server does that the protocol allows ends through the proxy as it ends without, and the server sees no
// protocol error.
func TestEveryScenarioEndsAsItDoesWithoutTheProxy(t *testing.T) {
	for _, s := range wiretest.Scenarios() {
		if !s.Valid {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			_, address := proxied(t, wiretest.Serve(t, s))
			call := wire.Call{Method: wiretest.Method, Message: s.Request(), Backend: workload.BackendTrailer}
			engine, err := wire.New(wire.Config{Addresses: []string{address}, Timeout: s.Timeout, MaxMessage: s.MaxMessage}, call)
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			recorder, _, err := engine.Run(t.Context(), pace.Closed{Users: s.InFlight, Calls: uint64(s.Calls)}, measure.StartSignal{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := recorder.Measurement()
			if err != nil {
				t.Fatal(err)
			}
			for code := range m.Errors {
				if !s.Want.Accepts(code, m.Samples[code]) {
					t.Errorf("a call ended with %s (%s), want %v (%s)", code, m.Samples[code], s.Want.Codes, s.Source)
				}
			}
		})
	}
}

func TestASlowBackendAnswersLater(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b", Delay: 20 * time.Millisecond})
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	for _, c := range []struct {
		fault workload.Fault
		least time.Duration
	}{
		{workload.Fault{}, 20 * time.Millisecond},
		{workload.Fault{Slow: 130 * time.Millisecond}, 150 * time.Millisecond},
		{workload.Fault{Factor: 8}, 160 * time.Millisecond},
		{workload.Fault{Slow: 50 * time.Millisecond, Factor: 5}, 150 * time.Millisecond},
	} {
		proxy.SetFault(c.fault)
		if md, took, err := greet(t, channel, "you"); err != nil || took < c.least || strings.Join(md[workload.BackendTrailer], "") != "b" {
			t.Errorf("with %+v a call took %v with the trailer %v, %v; want at least %v", c.fault, took, md, err, c.least)
		}
	}
	if _, took, err := greet(t, dial(t, address), strings.Repeat("long", 1<<18)); err != nil {
		t.Errorf("a call of a megabyte took %v: %v", took, err)
	}
}

func TestAFailingBackendAnswersAtOnce(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b"})
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	stream, err := rpclabv1.NewGreeterClient(channel).Greetings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exchange := func() error {
		if err := stream.Send(&rpclabv1.HelloRequest{Name: "you"}); err != nil {
			return err
		}
		_, err := stream.Recv()
		return err
	}
	if err := exchange(); err != nil {
		t.Fatal(err)
	}
	proxy.SetFault(workload.Fault{Code: codes.ResourceExhausted})
	if err := exchange(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the next message of a stream returns %v, want RESOURCE_EXHAUSTED", err)
	}
	for range 50 { // more than a connection's window
		if _, _, err := greet(t, channel, strings.Repeat("x", 1<<16)); status.Code(err) != codes.ResourceExhausted {
			t.Fatalf("a call returns %v, want RESOURCE_EXHAUSTED", err)
		}
	}
	if _, err := healthv1.NewHealthClient(channel).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("the health check fails: %v", err)
	}
	proxy.SetFault(workload.Fault{})
	if _, _, err := greet(t, channel, "you"); err != nil {
		t.Errorf("after the fault a call fails: %v", err)
	}
	var count strings.Builder
	if proxy.WriteCount(&count); count.String() != "52\n" {
		t.Errorf("the proxy counts %q calls, want a stream and 51 calls, without the health check", count.String())
	}
}

// A call is drawn once, however many frames it has, and each message of a stream once.
func TestAShareOfCallsFails(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b"})
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	long := strings.Repeat("x", 1<<18)
	const calls = 400
	unary := func() error { _, _, err := greet(t, channel, long); return err }
	var stream rpclabv1.Greeter_GreetingsClient
	message := func() (err error) {
		if stream == nil {
			if stream, err = rpclabv1.NewGreeterClient(channel).Greetings(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_ = stream.Send(&rpclabv1.HelloRequest{Name: long}) // Recv returns why it failed
		if _, err = stream.Recv(); err != nil {
			stream = nil
		}
		return err
	}
	proxy.SetFault(workload.Fault{Code: codes.Internal, Share: 0.25})
	for name, call := range map[string]func() error{"calls": unary, "messages": message} {
		failed := 0
		for range calls {
			switch err := call(); status.Code(err) {
			case codes.OK:
			case codes.Internal:
				failed++
			default:
				t.Fatalf("%s: %v, want INTERNAL", name, err)
			}
		}
		if failed < 50 || failed > 150 { // 5.8 standard deviations
			t.Errorf("%d of %d %s failed, want about 100", failed, calls, name)
		}
	}
}

// Clients cancel slow calls. Their answers must not use up the window of the connection.
func TestCancelledSlowCallsLeaveTheConnectionUsable(t *testing.T) {
	address, _ := serve(t, &workload.Server{ID: "b"})
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	proxy.SetFault(workload.Fault{Slow: time.Minute})
	name := strings.Repeat("x", 1<<14)
	var calls sync.WaitGroup
	for range 40 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: name}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("a call returns %v, want DEADLINE_EXCEEDED", err)
			}
		})
	}
	calls.Wait()
	proxy.SetFault(workload.Fault{})
	for range 20 {
		if _, _, err := greet(t, channel, name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestABackendThatStopsDrainsThroughTheProxy(t *testing.T) {
	address, stop := serve(t, &workload.Server{ID: "b", Delay: 200 * time.Millisecond})
	proxy, address := proxied(t, address)
	proxy.SetFault(workload.Fault{Slow: 100 * time.Millisecond})
	channel := dial(t, address)
	ended := make(chan error)
	go func() { _, _, err := greet(t, channel, "you"); ended <- err }()
	var count strings.Builder
	testkit.Await(t, "the call has begun", func() bool { count.Reset(); proxy.WriteCount(&count); return count.String() == "1\n" })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a call in flight fails: %v", err)
	}
	refused := func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}
	testkit.Await(t, "connections are refused", refused)
}
