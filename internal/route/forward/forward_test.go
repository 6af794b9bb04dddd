package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/forward"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testForwarder is a forwarder and its service, which has no backends at first.
type testForwarder struct {
	t         *testing.T
	endpoints *cluster.Endpoints
	watcher   *endpointslice.Watcher
	address   string // of the forwarder
	stop      func() // ends the forwarder
}

func newForwarder(t *testing.T) *testForwarder {
	t.Helper()
	f := &testForwarder{t: t, endpoints: cluster.NewEndpoints()}
	p, err := publish.Serve(f.endpoints, publish.Names{Service: "greeter", Namespace: "default"}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	f.watcher = endpointslice.NewWatcher(p.Service())
	listener := listen(t, "127.0.0.1:0")
	f.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		forward.Serve(ctx, listener, f.watcher)
	}()
	f.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(func() {
		f.stop()
		f.watcher.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func listen(t *testing.T, address string) *net.TCPListener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener.(*net.TCPListener)
}

// backend starts backend bn, which serves each connection with serve, and returns once the
// forwarder knows the backend.
func (f *testForwarder) backend(n int, serve func(*net.TCPConn)) {
	f.t.Helper()
	listener := listen(f.t, fmt.Sprintf("127.0.79.%d:0", n))
	go func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	f.t.Cleanup(func() { _ = listener.Close() })
	f.set(fmt.Sprintf("b%d", n), func(id string) {
		f.endpoints.Set(cluster.Endpoint{ID: id, Addr: listener.Addr().(*net.TCPAddr).AddrPort(), Serving: true})
	})
}

// set changes the endpoints by calling change with id, and returns once the forwarder knows.
func (f *testForwarder) set(id string, change func(id string)) {
	f.t.Helper()
	before, changed := f.watcher.Current()
	change(id)
	select {
	case <-changed:
	case <-f.t.Context().Done():
		f.t.Fatalf("the forwarder was not updated; it knows %v", before.Usable)
	}
	if !before.Synced { // the first set may be from before the change
		testkit.Await(f.t, "the forwarder knows its backends", func() bool {
			now, _ := f.watcher.Current()
			return len(now.Usable) > 0
		})
	}
}

func (f *testForwarder) connect() *net.TCPConn {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // so that no failure hangs
	f.t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// writeName writes a name to a connection and keeps the connection open until the client ends it.
func writeName(name string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		defer c.Close()
		_, _ = io.WriteString(c, name)
		_, _ = io.Copy(io.Discard, c)
	}
}

func read(t *testing.T, c net.Conn, bytes int) string {
	t.Helper()
	b := make([]byte, bytes)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestForwarderCopiesBothDirectionsAfterAHalfClose(t *testing.T) {
	f := newForwarder(t)
	f.backend(1, func(c *net.TCPConn) { // answers after the end of the request
		defer c.Close()
		request, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, strings.ToUpper(string(request)))
	})
	c := f.connect()
	request := strings.Repeat("abcdefgh", 1<<17) // a megabyte: more than any buffer holds
	go func() {
		_, _ = io.WriteString(c, request)
		_ = c.CloseWrite()
	}()
	answer, err := io.ReadAll(c)
	if err != nil || string(answer) != strings.ToUpper(request) {
		t.Errorf("the answer has %d bytes (%v), want the %d bytes of the request in upper case", len(answer), err, len(request))
	}
}

func TestResetIsForwarded(t *testing.T) {
	broken := make(chan error, 1)
	f := newForwarder(t)
	f.backend(1, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "1")
		_, err := c.Read(make([]byte, 1))
		broken <- err
		_ = c.Close()
	})
	c := f.connect()
	read(t, c, 1)
	_ = c.SetLinger(0)
	_ = c.Close()
	if err := <-broken; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the client's reset the backend reads the error %v, want %v", err, syscall.ECONNRESET)
	}

	f.set("b1", f.endpoints.Remove)
	f.backend(2, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1))
		_ = c.SetLinger(0)
		_ = c.Close()
	})
	c = f.connect()
	_, _ = c.Write([]byte{1})
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the backend's reset the client reads the error %v, want %v", err, syscall.ECONNRESET)
	}
}

func TestConnectionWithoutAReadyBackendIsReset(t *testing.T) {
	f := newForwarder(t)
	connectAndRead := func() error { // either may fail
		c, err := net.Dial("tcp", f.address)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
		return err
	}
	if err := connectAndRead(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("without a backend the error is %v, want %v", err, syscall.ECONNRESET)
	}
	gone := listen(t, "127.0.79.9:0")
	_ = gone.Close()
	f.set("gone", func(id string) {
		f.endpoints.Set(cluster.Endpoint{ID: id, Addr: gone.Addr().(*net.TCPAddr).AddrPort(), Serving: true})
	})
	if err := connectAndRead(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("with a backend that does not listen the error is %v, want %v", err, syscall.ECONNRESET)
	}
}

func TestConnectionStaysWithItsBackendWhenEndpointsChange(t *testing.T) {
	f := newForwarder(t)
	f.backend(1, func(c *net.TCPConn) {
		defer c.Close()
		_, _ = io.Copy(c, c) // echoes
	})
	c := f.connect()
	_, _ = io.WriteString(c, "before")
	read(t, c, 6)
	f.set("b1", f.endpoints.Remove)
	f.backend(2, writeName("b2"))
	if got := read(t, f.connect(), 2); got != "b2" {
		t.Errorf("a new connection goes to %s, want b2", got)
	}
	_, _ = io.WriteString(c, "after")
	if got := read(t, c, 5); got != "after" {
		t.Errorf("the old connection reads %q, want after", got)
	}
}

// 400 connections to 4 backends: each backend is picked 100 times ± 6 σ (binomial, σ = 8.7). The
// test fails by chance with a probability of 10⁻⁸.
func TestEveryConnectionGoesToARandomBackend(t *testing.T) {
	f := newForwarder(t)
	for n := range 4 {
		f.backend(n+1, writeName(fmt.Sprintf("b%d", n+1)))
	}
	picked := map[string]int{}
	for range 400 {
		c := f.connect()
		picked[read(t, c, 2)]++
		_ = c.Close()
	}
	for name, n := range picked {
		if n < 100-52 || n > 100+52 {
			t.Errorf("%s was picked %d times of 400, want 100 ± 52", name, n)
		}
	}
	if len(picked) != 4 {
		t.Errorf("the connections went to %v, want 4 backends", picked)
	}
}

func TestConnectionsEndWithTheForwarder(t *testing.T) {
	f := newForwarder(t)
	f.backend(1, writeName("b1"))
	c := f.connect()
	read(t, c, 2)
	f.stop()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is still open after the forwarder ended")
	}
	if c, err := net.Dial("tcp", f.address); err == nil {
		_ = c.Close()
		t.Error("the forwarder still listens after it ended")
	}
}
