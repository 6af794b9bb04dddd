package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster/faultproxy"
	"rpclab/internal/process/netcut"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// serveAt serves at an address until stop is called.
func serveAt(t *testing.T, address string) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, listener, &workload.Server{ID: "b"})
}

// A proxy in a pod outlives its backend: calls fail meanwhile, and succeed when the backend listens again. When the pod
// stops, it accepts connections until the backend no longer does.
func TestAProxyInAPodOutlivesItsBackend(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend := first.Addr().String()
	stop := serveOn(t, first, &workload.Server{ID: "b"})
	listener, err := net.Listen("tcp", "127.0.0.2:0") // other tests open ports of 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	proxy, address := faultproxy.New(backend), listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		proxy.ServeInPod(ctx, listener.(*net.TCPListener))
		close(ended)
	}()
	call := func() codes.Code {
		_, _, err := greet(t, dial(t, address), "you")
		return status.Code(err)
	}
	if got := call(); got != codes.OK {
		t.Errorf("a call of a running backend ends with %s, want OK", got)
	}
	stop()
	if got := call(); got != codes.Unavailable {
		t.Errorf("a call of a backend that does not listen ends with %s, want UNAVAILABLE", got)
	}
	stop = serveAt(t, backend)
	if got := call(); got != codes.OK {
		t.Errorf("a call of a backend that restarted ends with %s, want OK", got)
	}
	cancel() // the pod stops
	if got := call(); got != codes.OK {
		t.Errorf("a call while the backend drains ends with %s, want OK", got)
	}
	select {
	case <-ended:
		t.Error("the proxy ended before its backend")
	default:
	}
	stop()
	<-ended
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the proxy accepts connections after its backend has stopped")
	}
}

func TestReadinessAlternates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := faultproxy.New("127.0.0.1:1")
		check := func(when string, want int) {
			t.Helper()
			w := httptest.NewRecorder()
			proxy.Readiness().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			if w.Code != want {
				t.Errorf("%s the check is answered with %d, want %d", when, w.Code, want)
			}
		}
		check("without a fault", http.StatusOK)
		proxy.SetFault(workload.Fault{Flap: 4 * time.Second})
		check("at first", http.StatusServiceUnavailable)
		<-time.After(3 * time.Second)
		proxy.SetFault(workload.Fault{Flap: 4 * time.Second, Slow: time.Second}) // does not begin again
		<-time.After(2 * time.Second)
		check("after 5 s", http.StatusOK)
		<-time.After(4 * time.Second)
		check("after 9 s", http.StatusServiceUnavailable)
		proxy.SetFault(workload.Fault{})
		check("after a recovery", http.StatusOK)
	})
}

// A reset ends the calls in flight at once, and leaves the backend and the next calls alone.
func TestAProxyResetsItsConnections(t *testing.T) {
	server := &workload.Server{ID: "b"}
	address, _ := serve(t, server)
	proxy, address := proxied(t, address)
	channel := dial(t, address)
	if _, _, err := greet(t, channel, "you"); err != nil {
		t.Fatal(err)
	}
	server.SetFault(workload.Fault{Slow: time.Hour})
	failed := make(chan error, 1)
	go func() { _, _, err := greet(t, channel, "you"); failed <- err }()
	testkit.Await(t, "a call is in flight", func() bool {
		var count strings.Builder
		server.WriteCount(&count)
		return count.String() == "2\n"
	})
	proxy.ServeCommands(strings.NewReader(`{"reset": true}`+"\n"), io.Discard)
	if err := <-failed; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "connection reset by peer") {
		t.Errorf("a call in flight at a reset ends with %v, want UNAVAILABLE, connection reset by peer", err)
	}
	server.SetFault(workload.Fault{})
	if _, _, err := greet(t, channel, "you"); err != nil {
		t.Errorf("a call after a reset fails: %v", err)
	}
}

// Whoever passes on the responses of a connection must not end it with FIN before it is reset.
func TestAResetResetsEveryClient(t *testing.T) {
	const clients = 50
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer backend.Close()
	proxy, address := proxied(t, backend.Listener.Addr().String())
	var conns []net.Conn
	for range clients {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: b\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	testkit.Await(t, "the requests are in flight", func() bool {
		var count strings.Builder
		proxy.WriteCount(&count)
		return count.String() == fmt.Sprintln(clients)
	})
	proxy.ServeCommands(strings.NewReader(`{"reset": true}`+"\n"), io.Discard)
	for i, conn := range conns {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("client %d reads %v, want connection reset by peer", i, err)
		}
	}
}

// Nothing is lost that TCP sends again: calls take as long as packets are dropped.
func TestAProxyDropsPackets(t *testing.T) {
	backend, _ := serve(t, &workload.Server{ID: "b"})
	proxy, address := proxied(t, backend)
	channel := dial(t, address)
	if _, _, err := greet(t, channel, "you"); err != nil {
		t.Fatal(err)
	}
	proxy.SetFault(workload.Fault{Drop: true})
	ended := make(chan error, 1)
	go func() { _, _, err := greet(t, channel, "you"); ended <- err }()
	select {
	case err := <-ended:
		t.Errorf("a call ends with %v while packets are dropped", err)
	case <-time.After(300 * time.Millisecond):
	}
	proxy.SetFault(workload.Fault{})
	if err := <-ended; err != nil {
		t.Errorf("a call from before ends with %v when packets pass again", err)
	}
}

func TestAProxyStopsWhilePacketsAreDropped(t *testing.T) {
	t.Parallel()
	backend, _ := serve(t, &workload.Server{ID: "b"})
	listener, err := netcut.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy, ended := faultproxy.New(backend), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		proxy.Serve(ctx, listener)
		close(ended)
	}()
	channel := dial(t, listener.Addr().String())
	if _, _, err := greet(t, channel, "you"); err != nil {
		t.Fatal(err)
	}
	proxy.SetFault(workload.Fault{Drop: true})
	stop()
	channel.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the proxy has not ended after 10 s")
		proxy.SetFault(workload.Fault{})
		<-ended
	}
}
