package route_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// otherServer starts a server that listens on the address of a component and returns its address.
// It answers gRPC's health checks and, as nginx does, the number of its configuration.
func otherServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls := grpc.NewServer()
	healthpb.RegisterHealthServer(calls, health.NewServer())
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: &http2, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") == "application/grpc" {
			calls.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/generation" {
			fmt.Fprint(w, "1")
			return
		}
		http.NotFound(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() {
		_ = server.Close()
		calls.Stop()
	})
	return listener.Addr().String()
}

// Another process may take a port between its allocation and the start of the component.
func TestAnswerOfAnotherServerDoesNotMakeAComponentReady(t *testing.T) {
	for _, c := range []struct{ route, want string }{
		{"forwarder", "forwarder exited before it was ready"},
		{"xds", "xds exited before it was ready"},
		{"envoy", "envoy-0 exited before it was ready"},
		{"nginx", "nginx-0 exited before it was ready"},
	} {
		t.Run(c.route, func(t *testing.T) {
			g := startGreeters(t, 1)
			r, err := route.Lookup(c.route)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := os.MkdirTemp("", "rpclab-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			taken := otherServer(t)
			infrastructure, err := r.Start(t.Context(), g.service, settings.Settings{Proxy: settings.Proxy{Workers: 1}}, route.Host{
				Self: g.self(), Dir: dir, Callers: 1, AllocateAddress: func() (string, error) { return taken, nil },
			})
			if err == nil {
				t.Errorf("the route %s is ready though another server listens on its port", c.route)
				_ = infrastructure.Close()
				return
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
				t.Errorf("error %v, want %q and address already in use", err, c.want)
			}
		})
	}
}
