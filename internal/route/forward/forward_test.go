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

// field is a forwarder and the service behind it, which has no backends at first.
type field struct {
	t         *testing.T
	endpoints *cluster.Endpoints
	table     *endpointslice.Watcher
	at        string // where the forwarder listens
	stop      func() // ends the forwarder
}

func newField(t *testing.T) *field {
	t.Helper()
	f := &field{t: t, endpoints: cluster.NewEndpoints()}
	p, err := publish.Serve(f.endpoints, publish.Names{Service: "greeter", Namespace: "default"}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	f.table = endpointslice.NewWatcher(p.Service())
	listener := listen(t, "127.0.0.1:0")
	f.at = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		forward.Serve(ctx, listener, f.table)
	}()
	f.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(func() {
		f.stop()
		f.table.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func listen(t *testing.T, at string) *net.TCPListener {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return listener.(*net.TCPListener)
}

// backend starts backend bn, which treats every connection so, and returns once the
// forwarder knows of it.
func (f *field) backend(n int, serve func(*net.TCPConn)) {
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

// set changes the endpoints and returns once the forwarder knows.
func (f *field) set(id string, do func(string)) {
	f.t.Helper()
	before, changed := f.table.Current()
	do(id)
	select {
	case <-changed:
	case <-f.t.Context().Done():
		f.t.Fatalf("nothing changed; it knows %v", before.Usable)
	}
	if !before.Synced { // the first answer may be of before
		testkit.Await(f.t, "the forwarder knows its backends", func() bool {
			now, _ := f.table.Current()
			return len(now.Usable) > 0
		})
	}
}

func (f *field) connect() *net.TCPConn {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.at)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // so that no failure hangs
	f.t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// tells writes a name on every connection and keeps it until the client ends it.
func tells(name string) func(*net.TCPConn) {
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

func TestBytesPassBothWaysAndOneSideMayEndFirst(t *testing.T) {
	f := newField(t)
	f.backend(1, func(c *net.TCPConn) { // answers when it has heard all
		defer c.Close()
		said, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, strings.ToUpper(string(said)))
	})
	c := f.connect()
	said := strings.Repeat("abcdefgh", 1<<17) // a megabyte: more than any buffer on the way
	go func() {
		_, _ = io.WriteString(c, said)
		_ = c.CloseWrite()
	}()
	heard, err := io.ReadAll(c)
	if err != nil || string(heard) != strings.ToUpper(said) {
		t.Errorf("heard %d bytes of %d, %v", len(heard), len(said), err)
	}
}

func TestAResetIsPassedOn(t *testing.T) {
	broken := make(chan error, 1)
	f := newField(t)
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
		t.Errorf("a backend whose client broke off saw %v", err)
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
		t.Errorf("a client whose backend broke off saw %v", err)
	}
}

func TestWithoutAReadyBackendAConnectionIsReset(t *testing.T) {
	f := newField(t)
	reset := func() error { // as soon as it is connected, or a moment later
		c, err := net.Dial("tcp", f.at)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
		return err
	}
	if err := reset(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("with no backend: %v", err)
	}
	gone := listen(t, "127.0.79.9:0")
	_ = gone.Close()
	f.set("gone", func(id string) {
		f.endpoints.Set(cluster.Endpoint{ID: id, Addr: gone.Addr().(*net.TCPAddr).AddrPort(), Serving: true})
	})
	if err := reset(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("with one that does not listen: %v", err)
	}
}

func TestAConnectionStaysWhereItIsWhenBackendsChange(t *testing.T) {
	f := newField(t)
	f.backend(1, func(c *net.TCPConn) {
		defer c.Close()
		_, _ = io.Copy(c, c) // says again what it hears
	})
	c := f.connect()
	_, _ = io.WriteString(c, "before")
	read(t, c, 6)
	f.set("b1", f.endpoints.Remove)
	f.backend(2, tells("b2"))
	if got := read(t, f.connect(), 2); got != "b2" {
		t.Errorf("a new connection goes to %s", got)
	}
	_, _ = io.WriteString(c, "after")
	if got := read(t, c, 5); got != "after" {
		t.Errorf("the old one says %q", got)
	}
}

// 400 connections over 4 backends: each is chosen within 6 σ of 100 (binomial, σ = 8.7),
// so that a false alarm is one in 10⁸.
func TestEveryConnectionGoesToARandomBackend(t *testing.T) {
	f := newField(t)
	for n := range 4 {
		f.backend(n+1, tells(fmt.Sprintf("b%d", n+1)))
	}
	chosen := map[string]int{}
	for range 400 {
		c := f.connect()
		chosen[read(t, c, 2)]++
		_ = c.Close()
	}
	for name, n := range chosen {
		if n < 100-52 || n > 100+52 {
			t.Errorf("%s was chosen %d times of 400", name, n)
		}
	}
	if len(chosen) != 4 {
		t.Errorf("chosen were %v", chosen)
	}
}

func TestItsConnectionsEndWithIt(t *testing.T) {
	f := newField(t)
	f.backend(1, tells("b1"))
	c := f.connect()
	read(t, c, 2)
	f.stop()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is still open")
	}
	if c, err := net.Dial("tcp", f.at); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}
