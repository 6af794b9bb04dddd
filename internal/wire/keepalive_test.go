package wire_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/wire"
	"rpclab/internal/wire/wiretest"
)

// scenarioEngine returns an engine whose server follows a scenario.
func scenarioEngine(t *testing.T, s wiretest.Scenario, cfg wire.Config) *wire.Engine {
	t.Helper()
	cfg.Addresses = []string{wiretest.Serve(t, s)}
	return engine(t, cfg, scenarioCall(s))
}

// loadAndConnections runs a load. It also returns how many connections the engine has opened so far.
func loadAndConnections(t *testing.T, e *wire.Engine, p wire.Pace) (measure.Measurement, int) {
	t.Helper()
	return load(t, e, p), e.Connections()
}

func TestAConnectionWithoutAResponseToPINGIsClosed(t *testing.T) {
	t.Parallel()
	e := scenarioEngine(t, wiretest.SilentAfter(2), wire.Config{KeepAlive: 50 * time.Millisecond, KeepAliveTimeout: 2 * time.Second})
	m, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 5})
	if m.Errors["UNAVAILABLE"] != 1 || m.Backends[wiretest.Backend] != 4 || connections != 2 {
		t.Errorf("%d answered, errors %v, %d connections", m.Backends[wiretest.Backend], m.Errors, connections)
	}
	if why := m.Samples["UNAVAILABLE"]; !strings.HasSuffix(why, ": no response to a PING within 2s") {
		t.Errorf("the error is %q", why)
	}
	if m.Elapsed < 2*time.Second || m.Elapsed > 30*time.Second {
		t.Errorf("the load took %v", m.Elapsed)
	}
}

func TestPINGsAreSentWithoutCallsInFlight(t *testing.T) {
	t.Parallel()
	lost := make(chan struct{}, 1)
	e := scenarioEngine(t, wiretest.SilentAfter(0), wire.Config{
		KeepAlive: 20 * time.Millisecond, KeepAliveTimeout: 2 * time.Second,
		OnConnectionLost: func() {
			select {
			case lost <- struct{}{}:
			default:
			}
		},
	})
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-lost
	if m := load(t, e, pace.Burst{Calls: 3}); m.Backends[wiretest.Backend] != 3 {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
}

// A delayed load generator must not close a connection whose server responded in time.
func TestADelayedClientAcceptsThePINGResponseThatWaits(t *testing.T) {
	t.Parallel()
	s := wiretest.ClosesIdle(time.Minute)
	call := scenarioCall(s)
	check := call.Check
	call.Check = func(n uint64, response []byte, backend string) error {
		<-time.After(1300 * time.Millisecond)
		return check(n, response, backend)
	}
	e := engine(t, wire.Config{
		Addresses: []string{wiretest.Serve(t, s)}, Channels: 2, KeepAlive: 50 * time.Millisecond, KeepAliveTimeout: time.Second,
	}, call)
	if m, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 3}); m.Backends[wiretest.Backend] != 3 || connections != 2 {
		t.Errorf("errors %v %v, %d connections", m.Errors, m.Samples, connections)
	}
}

// A server closes an idle connection. PINGs prevent that.
func TestPINGsKeepAnIdleConnectionOpen(t *testing.T) {
	t.Parallel()
	pauses := pace.Closed{Users: 1, Calls: 2, Think: 4 * time.Second}
	for name, c := range map[string]struct {
		keepAlive   time.Duration
		connections int
	}{"kept": {100 * time.Millisecond, 1}, "not kept": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tries = 3 // a machine that stops this process for 3 s sends no PINGs
			for try := 1; ; try++ {
				e := scenarioEngine(t, wiretest.ClosesIdle(3*time.Second), wire.Config{KeepAlive: c.keepAlive})
				m, connections := loadAndConnections(t, e, pauses)
				if m.Backends[wiretest.Backend] != 2 {
					t.Fatalf("the backend answered %d calls, errors %v, want 2 calls", m.Backends[wiretest.Backend], m.Errors)
				}
				if connections == c.connections {
					return
				}
				if try == tries {
					t.Fatalf("%d connections, want %d", connections, c.connections)
				}
			}
		})
	}
}

func TestTooManyPingsDoublesTheKeepAliveTime(t *testing.T) {
	t.Parallel()
	e := scenarioEngine(t, wiretest.TooManyPings(300*time.Millisecond), wire.Config{KeepAlive: 200 * time.Millisecond})
	testkit.Await(t, "the server complains", func() bool {
		_, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 2, Think: 500 * time.Millisecond})
		return connections > 1
	})
	m, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 4, Think: time.Second})
	if m.Backends[wiretest.Backend] != 4 || connections != 2 {
		t.Errorf("%d answered, errors %v %v, %d connections", m.Backends[wiretest.Backend], m.Errors, m.Samples, connections)
	}
}

// countingListener counts the open connections of a listener.
type countingListener struct {
	net.Listener
	open atomic.Int64
}

type countedConn struct {
	net.Conn
	gone func()
}

func (g *countingListener) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.open.Add(1)
	var once atomic.Bool
	return countedConn{conn, func() {
		if !once.Swap(true) {
			g.open.Add(-1)
		}
	}}, nil
}

func (g countedConn) Close() error {
	g.gone()
	return g.Conn.Close()
}

func listen(t *testing.T) *countingListener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &countingListener{Listener: listener}
}

func TestIdleConnectionsAreClosedAndTheNextCallOpensOne(t *testing.T) {
	t.Parallel()
	for name, spread := range map[string]bool{"one address": false, "spread": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener := listen(t)
			serve(t, listener, "b1", 0)
			e := engine(t, wire.Config{
				Addresses: []string{listener.Addr().String()}, Channels: 5, RoundRobin: spread, IdleClose: 300 * time.Millisecond,
			}, greet(t))
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for round := 1; round <= 3; round++ {
				testkit.Await(t, "all connections are closed", func() bool { return listener.open.Load() == 0 })
				if err := e.Connect(t.Context()); err != nil {
					t.Error(err)
				}
				m, connections := loadAndConnections(t, e, pace.Burst{Calls: 10})
				if m.Backends["b1"] != 10 || connections != 5+5*round {
					t.Errorf("errors %v %v, %d connections", m.Errors, m.Samples, connections)
				}
			}
		})
	}
}

func TestAConnectionWithACallIsNotIdle(t *testing.T) {
	t.Parallel()
	addr, _ := greeter(t, "b1", 600*time.Millisecond)
	e := engine(t, wire.Config{Addresses: []string{addr}, IdleClose: 200 * time.Millisecond}, greet(t))
	m, connections := loadAndConnections(t, e, pace.Closed{Users: 1, Calls: 2})
	if m.Backends["b1"] != 2 || connections != 1 {
		t.Errorf("errors %v %v, %d connections", m.Errors, m.Samples, connections)
	}
}

func TestIdleHTTP1ConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { server.Close(); <-served })
	call := wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 1}}
	cfg := wire.Config{Addresses: []string{listener.Addr().String()}, Channels: 3, IdleClose: 50 * time.Millisecond}
	e := engine(t, cfg, call)
	for range 2 {
		if m := load(t, e, pace.Burst{Calls: 3}); m.Backends[""] != 3 {
			t.Errorf("errors %v %v", m.Errors, m.Samples)
		}
		testkit.Await(t, "all connections are closed", func() bool { return listener.open.Load() == 0 })
	}
	cfg.KeepAlive = time.Second
	if _, err := wire.New(cfg, call); err == nil || !strings.Contains(err.Error(), "HTTP/1.1 has no PING") {
		t.Errorf("keep-alive by PING over HTTP/1.1: %v", err)
	}
}
