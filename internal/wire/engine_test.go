package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/wire"
)

func TestCallsEndAtTheirDeadline(t *testing.T) {
	t.Parallel()
	addr, _ := greeter(t, "b1", 10*time.Second)
	e := engine(t, wire.Config{Addresses: []string{addr}, Timeout: 50 * time.Millisecond}, greet(t))
	m := load(t, e, pace.Burst{Calls: 20})
	if m.Errors["DEADLINE_EXCEEDED"] != 20 || m.Elapsed > 9*time.Second || m.Elapsed < 50*time.Millisecond {
		t.Errorf("errors %v %v after %v", m.Errors, m.Samples, m.Elapsed)
	}
}

// The client reads the reset of the server before it checks its own clock.
func TestAnAnswerOfTheServerAtTheDeadlineIsDeadlineExceeded(t *testing.T) {
	for how, frame := range map[string]string{
		"RST_STREAM, CANCEL": "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",
		// In the header block, fields that are not indexed and not compressed: ":status: 200", "content-type: application/grpc"
		// and "grpc-status: 1", the status of tonic.
		"CANCELLED": "\x00\x00\x2f\x01\x05\x00\x00\x00\x01\x88" + "\x00\x0ccontent-type\x10application/grpc" + "\x00\x0bgrpc-status\x011",
	} {
		t.Run(how, func(t *testing.T) { answersAtTheDeadline(t, frame) })
	}
}

// answersAtTheDeadline sends a frame to stream 1 after the deadline of its call, which the client has not noticed yet.
func answersAtTheDeadline(t *testing.T, frame string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	late, reset := make(chan struct{}), make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			reset <- err
			return
		}
		defer conn.Close()
		_, err = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
		<-late
		if err == nil {
			_, err = io.WriteString(conn, frame)
		}
		reset <- err
		_, _ = io.Copy(io.Discard, conn)
	}()
	defer listener.Close()
	const timeout = 50 * time.Millisecond
	e := engine(t, wire.Config{Addresses: []string{listener.Addr().String()}, Timeout: timeout}, wire.Call{
		Method: "/test.Test/Answer",
		AppendMessage: func(n uint64, _ int, to []byte) ([]byte, error) {
			if n == 0 {
				return to, nil
			}
			<-time.After(2 * timeout) // which keeps the thread from its clock
			close(late)
			return to, <-reset
		},
	})
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := load(t, e, pace.Rate{PerSecond: 100, Duration: 20 * time.Millisecond, Max: 2}); m.Errors["DEADLINE_EXCEEDED"] != 2 {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
}

func TestAnInterruptedLoadCancelsItsCalls(t *testing.T) {
	addr, _ := greeter(t, "b1", time.Hour)
	call := greet(t)
	began, cancel := 0, func() {}
	call.AppendMessage = func(_ uint64, _ int, to []byte) ([]byte, error) {
		if began++; began%5 == 0 { // all of a load
			cancel()
		}
		return append(to, call.Message...), nil
	}
	e := engine(t, wire.Config{Addresses: []string{addr}}, call)
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]wire.Pace{
		"with more to come": pace.Closed{Users: 5, Duration: time.Hour},
		"after the last":    pace.Burst{Calls: 5},
	} {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		recorder, _, err := e.Run(ctx, p, measure.StartSignal{})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		m, err := recorder.Measurement()
		if err != nil || m.Calls != 5 || m.Errors["CANCELLED"] != 5 {
			t.Errorf("%s: %d calls, errors %v, %v", name, m.Calls, m.Errors, err)
		}
	}
}

func TestAnOpenLoopDropsCallsOverMaxInFlight(t *testing.T) {
	t.Parallel()
	addr, _ := greeter(t, "b1", time.Hour) // so that no call ends before the last call is due
	e := engine(t, wire.Config{Addresses: []string{addr}, Timeout: 3 * time.Second}, greet(t))
	m := load(t, e, pace.Rate{PerSecond: 100, Duration: 400 * time.Millisecond, Max: 10})
	if m.Calls != 10 || m.Dropped != 30 {
		t.Errorf("%d calls, %d dropped", m.Calls, m.Dropped)
	}
}

func TestUsersThinkBetweenCalls(t *testing.T) {
	t.Parallel()
	addr, _ := greeter(t, "b1", 0)
	e := engine(t, wire.Config{Addresses: []string{addr}}, greet(t))
	m := load(t, e, pace.Closed{Users: 3, Think: 30 * time.Millisecond, Duration: time.Second})
	if m.Calls < 3*2 || m.Calls > 3*34 {
		t.Errorf("%d calls by 3 users in 1 s who think for 30 ms", m.Calls)
	}
}

func TestCallsWithoutAServerFailWithTheReason(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	for name, cfg := range map[string]wire.Config{"one channel": {}, "spread": {RoundRobin: true}, "per call": {ConnectionPerCall: true}} {
		cfg.Addresses = []string{addr}
		e := engine(t, cfg, greet(t))
		m := load(t, e, pace.Burst{Calls: 3})
		want := "cannot connect to " + addr + ": connect: connection refused"
		if m.Errors["UNAVAILABLE"] != 3 || m.Samples["UNAVAILABLE"] != want {
			t.Errorf("%s: errors %v %v", name, m.Errors, m.Samples)
		}
		if err := e.Connect(t.Context()); name == "one channel" && (err == nil || err.Error() != "wire: "+want) {
			t.Errorf("connect: %v", err)
		}
	}
}

func TestTheEngineReconnectsToARestartedServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	stop := serve(t, listener, "first", 0)
	e := engine(t, wire.Config{Addresses: []string{addr}}, greet(t))
	if m := load(t, e, pace.Burst{Calls: 10}); m.Backends["first"] != 10 {
		t.Fatalf("%v %v", m.Backends, m.Errors)
	}
	stop()
	if listener, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	serve(t, listener, "second", 0)
	testkit.Await(t, "calls reach the second server", func() bool {
		return load(t, e, pace.Burst{Calls: 1}).Backends["second"] == 1
	})
}

// until is a closed load that ends when over is set.
type until struct {
	pace.Closed
	over *atomic.Bool
}

func (u until) Next(n uint64, after time.Duration) (time.Duration, bool) {
	due, more := u.Closed.Next(n, after)
	return due, more && !u.over.Load()
}

// A server that stops gracefully sends GOAWAY: no call may fail because of it.
func TestNoCallFailsWhenServersStopGracefully(t *testing.T) {
	stops := []func(){}
	var addrs []string
	for _, id := range []string{"a", "b", "c"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stops, addrs = append(stops, serve(t, listener, id, 5*time.Millisecond)), append(addrs, listener.Addr().String())
	}
	var began atomic.Uint64
	call := greet(t)
	call.AppendMessage = func(_ uint64, _ int, to []byte) ([]byte, error) {
		began.Add(1)
		return append(to, call.Message...), nil
	}
	e := engine(t, wire.Config{Addresses: addrs, RoundRobin: true}, call)
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	go func() {
		await := func(calls uint64) {
			for began.Load() < calls {
				<-time.After(time.Millisecond)
			}
		}
		await(200)
		e.SetAddresses(addrs[1:])
		stops[0]()
		stops[1]()
		await(began.Load() + 500)
		over.Store(true)
	}()
	m := load(t, e, until{pace.Closed{Users: 20, Duration: time.Hour}, &over})
	if len(m.Errors) > 0 || len(m.Backends) != 3 || m.Backends["c"] <= m.Backends["a"] {
		t.Errorf("backends %v, errors %v %v", m.Backends, m.Errors, m.Samples)
	}
}

func TestRoundRobinSpreadsCallsEvenly(t *testing.T) {
	var addrs []string
	for _, id := range []string{"a", "b", "c"} {
		addr, _ := greeter(t, id, 0)
		addrs = append(addrs, addr)
	}
	e := engine(t, wire.Config{Addresses: addrs, RoundRobin: true}, greet(t))
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, pace.Closed{Users: 7, Calls: 300})
	if m.Backends["a"] != 100 || m.Backends["b"] != 100 || m.Backends["c"] != 100 {
		t.Errorf("backends %v", m.Backends)
	}
}

func TestCallsDoNotAllocateInTheSteadyState(t *testing.T) {
	e := engine(t, wire.Config{Addresses: []string{answerer(t)}, Channels: 4, Timeout: time.Minute},
		wire.Call{Method: "/test.Test/Answer", Message: []byte("request")})
	const calls = 20_000
	load := func() {
		if _, _, err := e.Run(t.Context(), pace.Closed{Users: 50, Calls: calls}, measure.StartSignal{}); err != nil {
			t.Fatal(err)
		}
	}
	load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	load()
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > calls/10 { // a load allocates its histograms once
		t.Errorf("%d allocations for %d calls", n, calls)
	}
}

func TestAClosedEngineReturnsErrClosed(t *testing.T) {
	e, err := wire.New(wire.Config{Addresses: []string{"127.0.0.1:1"}}, greet(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := e.Run(t.Context(), pace.Burst{Calls: 1}, measure.StartSignal{}); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("run: %v", err)
	}
}
