package wire_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// get is a call over HTTP/1.1.
func get(path string) wire.Call {
	return wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: path, Version: 1}, Authority: "example.com"}
}

// barrierServer returns the address of a server that responds once n calls are in flight.
func barrierServer(t *testing.T, n int) (addr string) {
	t.Helper()
	var here sync.WaitGroup
	here.Add(n)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		here.Done()
		here.Wait()
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestConnectionsAreOpenedOnDemand(t *testing.T) {
	for what, c := range map[string]struct {
		pace  wire.Pace
		calls int
	}{
		"open":   {pace.Rate{PerSecond: 1000, Duration: 40 * time.Millisecond, Max: 10_000}, 40},
		"closed": {pace.Closed{Users: 40, Calls: 40}, 40},
	} {
		e := engine(t, wire.Config{Addresses: []string{barrierServer(t, c.calls)}, Channels: 10_000, OnDemand: true, Timeout: time.Minute}, get("/"))
		if err := e.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m, connections := loadAndConnections(t, e, c.pace); m.Backends[""] != uint64(c.calls) || connections != c.calls {
			t.Errorf("%s: %d responses over %d connections, errors %v", what, m.Backends[""], connections, m.Samples)
		}
	}
}

func TestCallsWaitForAConnectionWhenAllAreBusy(t *testing.T) {
	for _, onDemand := range []bool{false, true} {
		server := echo(t, false)
		e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 3, OnDemand: onDemand}, get("/echo"))
		if m, connections := loadAndConnections(t, e, pace.Burst{Calls: 500}); m.Backends[""] != 500 || connections != 3 {
			t.Errorf("on demand %v: %d responses over %d connections, errors %v", onDemand, m.Backends[""], connections, m.Samples)
		}
	}
}

func TestOneUserReusesOneConnection(t *testing.T) {
	server := echo(t, false)
	e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 100, OnDemand: true}, get("/echo"))
	if m, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 200}); m.Backends[""] != 200 || connections != 1 {
		t.Errorf("%d responses over %d connections", m.Backends[""], connections)
	}
}

func TestAServerThatClosesGetsANewConnectionForEachCall(t *testing.T) {
	server := echo(t, false)
	e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, Channels: 4, OnDemand: true}, get("/close"))
	if m, connections := loadAndConnections(t, e, pace.Closed{Users: 8, Calls: 100}); m.Backends[""] != 100 || connections != 100 {
		t.Errorf("%d responses over %d connections, errors %v %v", m.Backends[""], connections, m.Errors, m.Samples)
	}
}

// refusingAddress returns an address that refuses connections, and a function that starts a server on it.
func refusingAddress(t *testing.T) (addr string, serve func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = listener.Addr().String()
	listener.Close()
	return addr, func() {
		again, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(again) }()
		t.Cleanup(func() { server.Close() })
	}
}

func TestCallsGoToTheFirstAddressThatWorks(t *testing.T) {
	refusing, _ := refusingAddress(t)
	for _, spread := range []bool{false, true} {
		e := engine(t, wire.Config{
			Addresses: []string{refusing, barrierServer(t, 20)}, Channels: 50, OnDemand: true, RoundRobin: spread, Timeout: time.Minute,
		}, get("/"))
		if m := load(t, e, pace.Burst{Calls: 20}); m.Backends[""] != 20 {
			t.Errorf("round robin %v: errors %v %v", spread, m.Errors, m.Samples)
		}
	}
}

func TestCallsFailOnlyUntilTheServerListens(t *testing.T) {
	addr, serve := refusingAddress(t)
	e := engine(t, wire.Config{Addresses: []string{addr}, Channels: 50, OnDemand: true}, get("/"))
	if err := e.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot connect to "+addr) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("connect: %v", err)
	}
	if m := load(t, e, pace.Burst{Calls: 10}); m.Errors["UNAVAILABLE"] != 10 || !strings.Contains(m.Samples["UNAVAILABLE"], "refused") {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
	serve()
	if err := e.Connect(t.Context()); err != nil && !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	// The next attempt is due within the first backoff, and calls that are due until then wait for it.
	var m measure.Measurement
	for end := time.Now().Add(time.Minute); m.Errors["HTTP_404"] != 10; {
		if m = load(t, e, pace.Burst{Calls: 10}); time.Now().After(end) {
			t.Fatalf("errors %v %v", m.Errors, m.Samples)
		}
	}
}

func TestAPoolConnectsToUpdatedAddresses(t *testing.T) {
	old, now := echo(t, false), echo(t, false)
	e := engine(t, wire.Config{Addresses: []string{old.Listener.Addr().String()}, Channels: 3}, get("/echo"))
	if m := load(t, e, pace.Burst{Calls: 30}); m.Backends[""] != 30 {
		t.Fatalf("errors %v %v", m.Errors, m.Samples)
	}
	e.SetAddresses([]string{now.Listener.Addr().String()})
	old.Close()
	if m, connections := loadAndConnections(t, e, pace.Burst{Calls: 30}); m.Backends[""] != 30 || connections != 6 {
		t.Errorf("%d responses, %d connections, errors %v %v", m.Backends[""], connections, m.Errors, m.Samples)
	}
	e.SetAddresses(nil)
	e.SetResolverError(net.ErrClosed)
	if m := load(t, e, pace.Burst{Calls: 5}); m.Errors["UNAVAILABLE"] != 5 || m.Samples["UNAVAILABLE"] != "no address to connect to" && m.Samples["UNAVAILABLE"] != net.ErrClosed.Error() {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
}

func TestATimedOutCallLetsThePoolOpenAConnection(t *testing.T) {
	t.Parallel()
	addr := barrierServer(t, 3) // the third call is never made
	e := engine(t, wire.Config{Addresses: []string{addr}, Channels: 2, OnDemand: true, Timeout: time.Second}, get("/"))
	if m, connections := loadAndConnections(t, e, pace.Burst{Calls: 2}); m.Errors["DEADLINE_EXCEEDED"] != 2 || connections != 2 {
		t.Errorf("%d connections, errors %v", connections, m.Errors)
	}
	if m, connections := loadAndConnections(t, e, pace.Burst{Calls: 1}); m.Backends[""] != 1 || connections != 3 {
		t.Errorf("%d connections, errors %v", connections, m.Errors)
	}
}

// BenchmarkHTTP1 makes requests over HTTP/1.1 to a server that sends a fixed response.
func BenchmarkHTTP1(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerPlain(conn)
		}
	}()
	e := engine(b, wire.Config{Addresses: []string{listener.Addr().String()}, Channels: 50, OnDemand: true, Timeout: 30 * time.Second}, get("/"))
	b.ReportAllocs()
	b.ResetTimer()
	if m := load(b, e, pace.Closed{Users: 50, Calls: uint64(b.N)}); m.Backends[""] != uint64(b.N) {
		b.Fatalf("%d calls answered of %d: %v %v", m.Backends[""], b.N, m.Errors, m.Samples)
	}
}

// answerPlain treats each read as one request.
func answerPlain(conn net.Conn) {
	defer conn.Close()
	in, out := make([]byte, 1<<12), []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	for {
		if _, err := conn.Read(in); err != nil {
			return
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}
