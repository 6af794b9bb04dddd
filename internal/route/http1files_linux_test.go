package route_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// requests are backends in HTTP/1.1 that answer once a number of requests are in flight at the same time.
type requests struct {
	mu      sync.Mutex
	waiting int
	all     chan struct{} // closed when they are
	want    int
}

func (r *requests) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	if r.waiting++; r.waiting == r.want {
		close(r.all)
	}
	r.mu.Unlock()
	select {
	case <-r.all:
	case <-request.Context().Done():
	}
	_, _ = io.WriteString(w, request.Host)
}

// startRequests starts backends at 127.0.77.1 and so on, and publishes them.
func startRequests(t *testing.T, backends, want int) (*greeters, *requests) {
	t.Helper()
	handler := &requests{want: want, all: make(chan struct{})}
	g := &greeters{t: t, endpoints: cluster.NewEndpoints()}
	for n := range backends {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.77.%d:%d", n+1, g.port))
		if err != nil {
			t.Fatal(err)
		}
		addr := listener.Addr().(*net.TCPAddr).AddrPort()
		g.port = int(addr.Port())
		server := &http.Server{Handler: handler}
		go func() { _ = server.Serve(listener) }() // ends with Close
		t.Cleanup(func() { _ = server.Close() })
		g.endpoints.Set(cluster.Endpoint{ID: fmt.Sprintf("b%d", n+1), Addr: addr, Serving: true})
	}
	p, err := publish.Serve(g.endpoints, publish.Names{Service: "greeter", Namespace: "default", Port: g.port}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	g.service = p.Service()
	return g, handler
}

// In HTTP/1.1 a connection carries one request at a time, so a proxy needs two connections for each request in flight.
func TestProxiesCarry500RequestsAtATimeInHTTP1(t *testing.T) {
	const calls, backends, workers, spare = 500, 3, 2, 64
	for _, name := range []string{"envoy", "haproxy", "nginx"} {
		t.Run(name, func(t *testing.T) {
			r, err := route.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			g, served := startRequests(t, backends, calls)
			o := settings.Settings{Proxy: settings.Proxy{Workers: workers}, HTTP1: true}
			infrastructure := g.startInfrastructure(r, o)
			client := &http.Transport{MaxIdleConnsPerHost: calls}
			defer client.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var calling sync.WaitGroup
			errs := make([]error, calls)
			for i := range calls {
				calling.Go(func() { errs[i] = get(ctx, client, "http://"+infrastructure.ServiceFor(0).Proxy+"/") })
			}
			most := 0
			select {
			case <-served.all:
				most = mostOpenFiles()
			case <-ctx.Done():
				t.Error("not all requests reached the backends at the same time")
			}
			calling.Wait()
			failed := map[string]int{}
			for _, err := range errs {
				if err != nil {
					failed[err.Error()]++
				}
			}
			if len(failed) > 0 {
				t.Errorf("requests failed: %v", failed)
			}
			limit, purpose := r.OpenFilesFor(route.Demand{Channels: 1, Calls: calls, Backends: backends, Workers: workers, CallPerConnection: true})
			if most > limit+spare || most < calls {
				t.Errorf("a process had %d files open; OpenFilesFor returns %d (%s), and %d are spare", most, limit, purpose, spare)
			}
			t.Logf("%d files of %d", most, limit+spare)
		})
	}
}

// get makes a request.
func get(ctx context.Context, client *http.Transport, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", answer.Status)
	}
	return nil
}
