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

// TestMain shortens the 30-second floor of grpc-go's dns resolver, which only a
// whole process can do, so that these tests need not wait for it. The route itself
// never touches it.
func TestMain(m *testing.M) {
	dns.SetMinResolutionInterval(10 * time.Millisecond)
	testkit.Main(m)
}

const backendKey = "backend-id"

// greeters are real gRPC servers on loopback addresses, one port for all, and their
// publication.
type greeters struct {
	t         *testing.T
	endpoints *cluster.Endpoints
	port      int
	servers   map[string]*grpc.Server
	service   cluster.Service
	callers   int // 0: one
}

func (g *greeters) self() []string { return []string{testkit.Rpclab(g.t)} }

// startGreeters starts backends b1 to bn.
func startGreeters(t *testing.T, n int) *greeters {
	t.Helper()
	g := &greeters{t: t, endpoints: cluster.NewEndpoints(), servers: map[string]*grpc.Server{}}
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
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := grpc.SetTrailer(ctx, metadata.Pairs(backendKey, id)); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}))
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }() // ends with Stop
	g.servers[id] = server
	g.endpoints.Set(cluster.Endpoint{ID: id, Addr: addr, Serving: true})
}

// terminate publishes that a backend is to go; it answers as before.
func (g *greeters) terminate(n int) {
	now, _ := g.endpoints.Current()
	for _, e := range now.Endpoints {
		if e.ID == fmt.Sprintf("b%d", n) {
			e.Terminating = true
			g.endpoints.Set(e)
		}
	}
}

// stop takes a backend away as a graceful scale-down does: terminating, drained, gone.
func (g *greeters) stop(n int) {
	g.terminate(n)
	id := fmt.Sprintf("b%d", n)
	g.servers[id].GracefulStop()
	g.endpoints.Remove(id)
	delete(g.servers, id)
}

// kill takes a backend away without a goodbye; it is published until its end is noticed.
func (g *greeters) kill(n int) {
	id := fmt.Sprintf("b%d", n)
	g.servers[id].Stop()
	g.endpoints.Remove(id)
	delete(g.servers, id)
}

// news is what a route told.
type news struct {
	mu   sync.Mutex
	sets [][]string
}

func (n *news) told(_ time.Time, addrs []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sets = append(n.sets, slices.Sorted(slices.Values(addrs)))
}

func (n *news) last() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sets) == 0 {
		return nil
	}
	return n.sets[len(n.sets)-1]
}

// published waits until the API tells of these addresses and no others.
func (g *greeters) published(ips ...string) {
	g.t.Helper()
	table := endpointslice.NewWatcher(g.service)
	defer table.Close()
	eventually(g.t, func() (bool, string) {
		var now []string
		state, _ := table.Current()
		for _, e := range state.Usable {
			now = append(now, e.Addr.Addr().String())
		}
		slices.Sort(now)
		return state.Synced && slices.Equal(now, ips), fmt.Sprint(now)
	})
}

// open opens a route to the greeters, with what has to stand there, until the test ends.
func (g *greeters) open(name string) (caller.Target, *news) {
	g.t.Helper()
	return g.openWith(name, settings.Settings{Proxy: settings.Proxy{Workers: 1}})
}

func (g *greeters) openWith(name string, o settings.Settings) (caller.Target, *news) {
	g.t.Helper()
	r, err := route.Lookup(name)
	if err != nil {
		g.t.Fatal(err)
	}
	var heard news
	target, err := r.Open(g.t.Context(), g.stand(r, o).ServiceFor(0), o, heard.told)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(target.Close)
	return target, &heard
}

// stand starts the parts of a route until the test ends; one without any is as it is.
func (g *greeters) stand(r route.Route, o settings.Settings) route.Infrastructure {
	g.t.Helper()
	if r.Start == nil {
		return route.Infrastructure{Services: []cluster.Service{g.service}}
	}
	// Short, as paths of sockets have to be; a test's own directory has its name.
	dir, err := os.MkdirTemp("", "rpclab-")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	standing, err := r.Start(g.t.Context(), g.service, o, route.Host{
		Self: g.self(), Dir: dir, Callers: max(g.callers, 1), AllocateAddress: route.FreeAddress,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		for _, p := range standing.Components {
			for _, loss := range p.Failures() {
				g.t.Error(loss)
			}
		}
		if err := standing.Close(); err != nil {
			g.t.Error(err)
		}
	})
	return standing
}

// channel is a grpc-go channel over a target until the test ends.
func (g *greeters) channel(target caller.Target) *grpc.ClientConn {
	g.t.Helper()
	cc, err := grpc.NewClient(target.URI, grpcgo.DialOptions(target)...)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// call says which backend answered.
func call(ctx context.Context, cc *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var trailer metadata.MD
	if _, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Trailer(&trailer)); err != nil {
		return "", err
	}
	return trailer.Get(backendKey)[0], nil
}

// answered counts by backend who answers so many calls; a call that fails gives nil.
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

// answering are the backends that answer 30 calls; a call that fails gives nil.
func answering(ctx context.Context, cc *grpc.ClientConn) []string {
	return slices.Sorted(maps.Keys(answered(ctx, cc, 30)))
}

// eventually polls until ok, which describes what it saw.
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
			t.Fatalf("not within a minute; last saw %s", saw)
		}
	}
}
