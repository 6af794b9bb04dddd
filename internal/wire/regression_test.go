package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/pace"
	"rpclab/internal/service/stream"
	"rpclab/internal/wire"
)

// nobody returns an address without a listener.
func nobody(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// The addresses are removed after a call with its own connection has tried the first one.
func TestAddressesMayBeRemovedBetweenTwoAttempts(t *testing.T) {
	var e *wire.Engine
	lost := 0
	e = engine(t, wire.Config{
		Addresses: []string{nobody(t), nobody(t)}, ConnectionPerCall: true,
		OnConnectionLost: func() { lost++; e.SetAddresses(nil) },
	}, greet(t))
	if m := load(t, e, pace.Sequence(1)); m.Errors["UNAVAILABLE"] != 1 || !strings.Contains(m.Samples["UNAVAILABLE"], "refused") {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
	if lost != 1 {
		t.Errorf("the callback ran for %d lost connections, want 1", lost)
	}
}

// A server responds to the first call, sends GOAWAY and resets the connection before the client
// notices by a write.
func TestAResponseBeforeAResetCounts(t *testing.T) {
	t.Run("by sockets", func(t *testing.T) { testResponseBeforeReset(t, nil) })
	failed := make(chan struct{})
	fail := sync.OnceFunc(func() { close(failed) })
	t.Run("by goroutines", func(t *testing.T) {
		testResponseBeforeReset(t, func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := dialByGoroutines(ctx, addr)
			return &readsAfterFailedWrite{Conn: conn, failed: failed, fail: fail}, err
		})
	})
}

// readsAfterFailedWrite reads the server's SETTINGS, and nothing more before a write has failed.
type readsAfterFailedWrite struct {
	net.Conn
	read   bool
	failed <-chan struct{}
	fail   func()
}

func (h *readsAfterFailedWrite) Read(p []byte) (int, error) {
	if h.read {
		<-h.failed
	}
	h.read = true
	return h.Conn.Read(p)
}

func (h *readsAfterFailedWrite) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	if err != nil {
		h.fail()
	}
	return n, err
}

func testResponseBeforeReset(t *testing.T, dial func(context.Context, string) (net.Conn, error)) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	late, gone := make(chan struct{}), make(chan error, 1)
	go func() { gone <- answerOnceAndReset(listener, late) }()
	began := 0
	call := wire.Call{Method: "/test.Test/Answer", AppendMessage: func(_ uint64, _ int, to []byte) ([]byte, error) {
		if began++; began == 2 { // so that the thread does not read meanwhile
			close(late)
			if err := <-gone; err != nil {
				t.Error(err)
			}
		}
		return to, nil
	}}
	e := engine(t, wire.Config{Addresses: []string{listener.Addr().String()}, Dial: dial, Timeout: time.Minute}, call)
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := load(t, e, pace.Rate{PerSecond: 10, Duration: 200 * time.Millisecond, Max: 2}); m.Backends[""] != 2 {
		t.Errorf("%d responses of 2, errors %v %v", m.Backends[""], m.Errors, m.Samples)
	}
}

// answerOnceAndReset responds to one call and resets the connection. A server that responds to every call accepts the next one.
func answerOnceAndReset(listener net.Listener, when <-chan struct{}) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
	buffer := make([]byte, 0, 1<<10)
	for request := []byte{0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}; err == nil && !bytes.Contains(buffer, request); {
		var n int
		n, err = conn.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
	}
	<-when
	goAway := []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}
	first := bytes.Clone(oneAnswer)
	for _, frame := range [...]int{0, 9 + 20, 9 + 20 + 9 + 7} {
		first[frame+8] = 1
	}
	_, failed := conn.Write(append(first, goAway...))
	go func() {
		if next, err := listener.Accept(); err == nil {
			answer(next)
		}
	}()
	return errors.Join(err, failed, conn.(*net.TCPConn).SetLinger(0), conn.Close())
}

// More calls are due than the client can make. Their responses must not wait until the client
// gives up.
func TestResponsesAreReadDuringAnOverload(t *testing.T) {
	e := engine(t, wire.Config{Addresses: []string{answerer(t)}}, wire.Call{
		Method: "/test.Test/Answer",
		AppendMessage: func(_ uint64, _ int, to []byte) ([]byte, error) {
			for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
			}
			return to, nil
		},
	})
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, pace.Rate{PerSecond: 100_000, Duration: 300 * time.Millisecond, Max: 1 << 20})
	service, err := hdr.Decode([]byte(m.Service))
	if err != nil {
		t.Fatal(err)
	}
	if p50 := time.Duration(service.ValueAtQuantile(50)); m.Backends[""] != 30_000 || p50 > m.Elapsed/4 {
		t.Errorf("%d responses in %v; the median service time is %v", m.Backends[""], m.Elapsed, p50)
	}
}

// MaxMessage limits a message. A DATA frame may contain many messages.
func TestAFrameOfManyMessagesMayExceedMaxMessage(t *testing.T) {
	const responses = 200
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(bytes.Repeat(append([]byte{0, 0, 0, 0, 60}, make([]byte, 60)...), responses))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	e := engine(t, wire.Config{Addresses: []string{server.Listener.Addr().String()}, MaxMessage: 60},
		wire.Call{Method: "/test.Test/Many", Stream: &stream.Stream{Messages: 1, Responses: responses}})
	if m := load(t, e, pace.Sequence(3)); m.Backends[""] != 3 {
		t.Errorf("errors %v %v", m.Errors, m.Samples)
	}
}

// A new address has had no failed attempt, so the channel does not wait until the next attempt to the old one is due.
func TestANewAddressIsTriedAtOnce(t *testing.T) {
	server := echo(t, false).Listener.Addr().String()
	const failures = 6 // the next attempt is due after a second
	var lost atomic.Int64
	e := engine(t, wire.Config{Addresses: []string{nobody(t)}, Channels: 1, OnConnectionLost: func() { lost.Add(1) }},
		wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: "/echo", Version: 2}, Authority: "example.com"})
	for lost.Load() < failures {
		load(t, e, pace.Sequence(1))
	}
	e.SetAddresses([]string{server})
	began := time.Now()
	for load(t, e, pace.Sequence(1)).Errors["UNAVAILABLE"] > 0 {
	}
	if took := time.Since(began); took > 500*time.Millisecond || lost.Load() != failures {
		t.Errorf("the first call of the new address succeeded after %v and %d lost connections, want at once after %d", took, lost.Load(), failures)
	}
}
