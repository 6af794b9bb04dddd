package route_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver/dns"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/route"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
)

// TestMain shortens the minimum of 30 s between two look-ups of grpc-go's dns resolver, so that
// tests need not wait. It is a global of the process, which the route never changes.
func TestMain(m *testing.M) {
	dns.SetMinResolutionInterval(10 * time.Millisecond)
	testkit.Main(m)
}

const backendKey = "backend-id"

// greeters are gRPC servers on loopback addresses, all with one port, and their publication.
type greeters struct {
	t         *testing.T
	endpoints *cluster.Endpoints
	port      int
	servers   map[string]*grpc.Server
	service   cluster.Service
	callers   int // of a sidecar each; 0: one caller
	options   []grpc.ServerOption
}

func (g *greeters) self() []string { return []string{testkit.Rpclab(g.t)} }

// startGreeters starts backends b1 to bn.
func startGreeters(t *testing.T, n int, options ...grpc.ServerOption) *greeters {
	t.Helper()
	g := &greeters{t: t, endpoints: cluster.NewEndpoints(), servers: map[string]*grpc.Server{}, options: options}
	for i := range n {
		g.start(i + 1)
	}
	p, err := publish.Serve(g.endpoints, publish.Names{Service: "greeter", Namespace: "default", Port: g.port}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	g.service = p.Service()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range g.servers {
			s.Stop()
		}
	})
	return g
}

// start runs backend bn at 127.0.77.n and publishes it.
func (g *greeters) start(n int) {
	g.t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.77.%d:%d", n, g.port))
	if err != nil {
		g.t.Fatal(err)
	}
	addr := listener.Addr().(*net.TCPAddr).AddrPort()
	g.port = int(addr.Port())
	id := fmt.Sprintf("b%d", n)
	server := grpc.NewServer(append(g.options, grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := grpc.SetTrailer(ctx, metadata.Pairs(backendKey, id)); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}))...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // ends with Stop
	g.servers[id] = server
	g.endpoints.Set(cluster.Endpoint{ID: id, Addr: addr, Serving: true})
}

// terminate publishes that a backend terminates; the backend still answers.
func (g *greeters) terminate(n int) {
	now, _ := g.endpoints.Current()
	for _, e := range now.Endpoints {
		if e.ID == fmt.Sprintf("b%d", n) {
			e.Terminating = true
			g.endpoints.Set(e)
		}
	}
}

// stop removes a backend as a graceful scale-down does: terminating, drained, removed.
func (g *greeters) stop(n int) {
	g.terminate(n)
	id := fmt.Sprintf("b%d", n)
	g.servers[id].GracefulStop()
	g.endpoints.Remove(id)
	delete(g.servers, id)
}

// kill stops a backend without draining it, and then removes its endpoint.
func (g *greeters) kill(n int) {
	id := fmt.Sprintf("b%d", n)
	g.servers[id].Stop()
	g.endpoints.Remove(id)
	delete(g.servers, id)
}

// resolverUpdates records the addresses of resolver updates.
type resolverUpdates struct {
	mu   sync.Mutex
	sets [][]string
}

func (u *resolverUpdates) add(_ time.Time, addrs []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sets = append(u.sets, slices.Sorted(slices.Values(addrs)))
}

// last is the addresses of the last update; nil: there was none.
func (u *resolverUpdates) last() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sets) == 0 {
		return nil
	}
	return u.sets[len(u.sets)-1]
}

// awaitPublished waits until exactly these IP addresses are usable in the API.
func (g *greeters) awaitPublished(ips ...string) {
	g.t.Helper()
	watcher := endpointslice.NewWatcher(g.service)
	defer watcher.Close()
	eventually(g.t, func() (bool, string) {
		var usable []string
		state, _ := watcher.Current()
		for _, e := range state.Usable {
			usable = append(usable, e.Addr.Addr().String())
		}
		slices.Sort(usable)
		return state.Synced && slices.Equal(usable, ips), fmt.Sprintf("%v, want %v", usable, ips)
	})
}

// open opens a route to the greeters, and starts its infrastructure, until the test ends.
func (g *greeters) open(name string) (caller.Target, *resolverUpdates) {
	g.t.Helper()
	return g.openWith(name, settings.Settings{Proxy: settings.Proxy{Workers: 1}})
}

func (g *greeters) openWith(name string, o settings.Settings) (caller.Target, *resolverUpdates) {
	g.t.Helper()
	r, err := route.Lookup(name)
	if err != nil {
		g.t.Fatal(err)
	}
	var updates resolverUpdates
	target, err := r.Open(g.t.Context(), g.startInfrastructure(r, o).ServiceFor(0), o, updates.add)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(target.Close)
	return target, &updates
}

// startInfrastructure starts the infrastructure of a route, if it has any, until the test ends.
func (g *greeters) startInfrastructure(r route.Route, o settings.Settings) route.Infrastructure {
	g.t.Helper()
	if r.Start == nil {
		return route.Infrastructure{Services: []cluster.Service{g.service}}
	}
	// Not t.TempDir, whose path contains the test's name: paths of Unix sockets must be short.
	dir, err := os.MkdirTemp("", "rpclab-")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	infrastructure, err := r.Start(g.t.Context(), g.service, o, route.Host{
		Self: g.self(), Dir: dir, Callers: max(g.callers, 1), AllocateAddress: route.FreeAddress,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		for _, component := range infrastructure.Components {
			for _, failure := range component.Failures() {
				g.t.Error(failure)
			}
		}
		if err := infrastructure.Close(); err != nil {
			g.t.Error(err)
		}
	})
	return infrastructure
}

// channel opens a grpc-go channel to a target until the test ends.
func (g *greeters) channel(target caller.Target) *grpc.ClientConn {
	g.t.Helper()
	return openChannel(g.t, target)
}

func openChannel(t *testing.T, target caller.Target) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient(target.URI, grpcgo.DialOptions(target)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// call makes a call and returns the identity of the backend that answered.
func call(ctx context.Context, cc *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var trailer metadata.MD
	if _, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Trailer(&trailer)); err != nil {
		return "", err
	}
	return trailer.Get(backendKey)[0], nil
}

// answered makes calls and counts them by backend; nil: a call failed.
func answered(ctx context.Context, cc *grpc.ClientConn, calls int) map[string]int {
	seen := map[string]int{}
	for range calls {
		id, err := call(ctx, cc)
		if err != nil {
			return nil
		}
		seen[id]++
	}
	return seen
}

// answering are the backends that answer 30 calls; nil: a call failed.
func answering(ctx context.Context, cc *grpc.ClientConn) []string {
	return slices.Sorted(maps.Keys(answered(ctx, cc, 30)))
}

// eventually polls until ok returns true. The description that ok returns is part of the failure.
func eventually(t *testing.T, ok func() (bool, string)) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		good, saw := ok()
		if good {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the condition was not true within a minute; at last: %s", saw)
		}
	}
}
