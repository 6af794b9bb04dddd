package route_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpclab/internal/route"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
	"rpclab/internal/tool"
)

// proxies runs a test over each route with an installed program as proxy.
func proxies(t *testing.T, test func(*testing.T, route.Route)) {
	t.Helper()
	for _, name := range route.Names() {
		r, err := route.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Binary.Name != "" {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, r)
			})
		}
	}
}

// through starts the infrastructure of a route and opens a channel through it.
func (g *greeters) through(r route.Route, o settings.Settings) (*grpc.ClientConn, route.Infrastructure) {
	g.t.Helper()
	o.Proxy.Workers = max(o.Proxy.Workers, 1)
	infrastructure := g.startInfrastructure(r, o)
	target, err := r.Open(g.t.Context(), infrastructure.ServiceFor(0), o, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(target.Close)
	return g.channel(target), infrastructure
}

func TestKilledProxyRestartsWithTheCurrentBackends(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 2)
		cc, infrastructure := g.through(r, settings.Settings{})
		if _, err := call(t.Context(), cc); err != nil {
			t.Fatal(err)
		}
		g.start(3)
		for _, p := range infrastructure.Components {
			if p.Role == component.Proxy {
				if err := p.Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprintf("%v answer, want b1, b2, b3", ids)
		})
		g.stop(1)
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, []string{"b2", "b3"}), fmt.Sprintf("%v answer, want b2, b3", ids)
		})
	})
}

func TestProxySupportsEveryPolicyOfItsRoute(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 3)
		for _, policy := range r.Policies {
			t.Run(policy, func(t *testing.T) {
				g.t = t
				cc, infrastructure := g.through(r, settings.Settings{Policy: policy})
				eventually(t, func() (bool, string) { // random may miss a backend in 30 calls
					ids := answering(t.Context(), cc)
					return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprintf("%v answer, want b1, b2, b3", ids)
				})
				if len(infrastructure.Files) == 0 {
					t.Error("the infrastructure has no configuration file")
				}
			})
		}
	})
}

func TestEachCallerHasItsOwnSidecar(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 1)
		g.callers = 2
		_, infrastructure := g.through(r, settings.Settings{Proxy: settings.Proxy{Sidecar: true}})
		count := 0
		for _, p := range infrastructure.Components {
			if p.Role == component.Proxy {
				count++
			}
		}
		if count != 2 || len(infrastructure.Services) != 2 || infrastructure.Services[0].Proxy == infrastructure.Services[1].Proxy {
			t.Errorf("%d proxies run, with the services %v; want 2 proxies at different addresses", count, infrastructure.Services)
		}
	})
}

func TestProxyErrorNamesAPortThatIsInUse(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 1)
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		dir, err := os.MkdirTemp("", "rpclab-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		_, err = r.Start(t.Context(), g.service, settings.Settings{Proxy: settings.Proxy{Workers: 1}}, route.Host{
			Self: g.self(), Dir: dir, Callers: 1, AllocateAddress: func() (string, error) { return taken.Addr().String(), nil },
		})
		want := r.Binary.Name + "-0 exited before it was ready"
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(strings.ToLower(err.Error()), "address") {
			t.Errorf("error %v, want %q and the address", err, want)
		}
	})
}

func TestMissingProxyErrorSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("RPCLAB_TOOLS_DIR", t.TempDir())
	r, err := route.Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Start(t.Context(), startGreeters(t, 1).service, settings.Settings{}, route.Host{})
	const want = "rpclab doctor --install envoy"
	if !errors.Is(err, tool.ErrMissing) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %v with %s", err, tool.ErrMissing, want)
	}
}

// A busy channel through a proxy reaches new backends, and loses no call when a backend stops
// gracefully.
func TestABusyChannelDiscoversChangesThroughAProxy(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 2)
		cc, _ := g.through(r, settings.Settings{})
		if _, err := call(t.Context(), cc); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		var first, third, calls atomic.Int64
		for range 4 {
			callers.Go(func() {
				for ctx.Err() == nil {
					id, err := call(ctx, cc)
					calls.Add(1)
					switch id {
					case "b1":
						first.Add(1)
					case "b3":
						third.Add(1)
					}
					if err != nil && status.Code(err) != codes.Canceled {
						t.Error(err)
						return
					}
				}
			})
		}
		g.start(3)
		eventually(t, func() (bool, string) {
			return third.Load() > 100, fmt.Sprintf("%d of %d calls go to b3", third.Load(), calls.Load())
		})
		g.terminate(1)
		seen, since := first.Load(), calls.Load()
		eventually(t, func() (bool, string) { // until 100 calls in a row go to other backends
			if now := first.Load(); now != seen {
				seen, since = now, calls.Load()
			}
			return calls.Load() > since+100, fmt.Sprintf("%d calls to b1", seen)
		})
		g.stop(1)
		cancel()
		callers.Wait()
	})
}

// A proxy reports the backend of every response, also of one that has no message (Trailers-Only), and of a call that
// it sent to another backend first.
func TestProxyReportsTheBackendOfEachResponse(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 3)
		cc, _ := g.through(r, settings.Settings{ReportUpstream: true})
		checks := healthpb.NewHealthClient(cc)
		reported := func(name string) (code codes.Code, upstream, want string) {
			var header, trailer metadata.MD
			_, err := checks.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name}, grpc.Header(&header), grpc.Trailer(&trailer))
			if ids := trailer.Get(backendKey); len(ids) > 0 {
				want = fmt.Sprintf("127.0.77.%s:%d", ids[0][1:], g.port)
			}
			// The headers of a Trailers-Only response are its trailers.
			return status.Code(err), strings.Join(append(header.Get(service.UpstreamHeader), trailer.Get(service.UpstreamHeader)...), " and "), want
		}
		seen := map[string]bool{}
		for range 30 {
			for name, wantCode := range map[string]codes.Code{"": codes.OK, "unknown": codes.NotFound} {
				code, upstream, want := reported(name)
				if code != wantCode || upstream != want || want == "" {
					t.Fatalf("a response %s of %s reports %q, want %s of the backend that answered", code, want, upstream, wantCode)
				}
				seen[upstream] = true
			}
		}
		if len(seen) != 3 && len(r.Policies) > 0 && r.Policies[0] == settings.RoundRobin {
			t.Errorf("the reported backends are %v, want 3", seen)
		}
		g.servers["b1"].Stop() // and the proxy does not know
		for range 30 {
			if code, upstream, want := reported(""); code == codes.OK && upstream != want {
				t.Fatalf("a response of %s reports %q", want, upstream)
			}
		}
	})
}

// A proxy passes on what a call says about itself: its authority, and keys that are valid in gRPC's metadata.
func TestProxyKeepsTheAuthorityAndMetadataOfCalls(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		keys := []string{":authority", "tenant_id", "x.tenant", "x-tenant"}
		received := make(chan metadata.MD, 1)
		g := startGreeters(t, 1, grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			received <- md
			return handle(ctx, request)
		}))
		_, infrastructure := g.through(r, settings.Settings{})
		cc, err := grpc.NewClient("passthrough:///"+infrastructure.ServiceFor(0).Proxy, grpc.WithAuthority("shop.example"),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		ctx := metadata.AppendToOutgoingContext(t.Context(), "tenant_id", "acme", "x.tenant", "acme", "x-tenant", "acme")
		if _, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		md := <-received
		for i, want := range []string{"shop.example", "acme", "acme", "acme"} {
			if got := md.Get(keys[i]); !slices.Equal(got, []string{want}) {
				t.Errorf("the backend receives %s %q, want %q", keys[i], got, want)
			}
		}
	})
}

func TestProxyReportsNoBackendUnlessAsked(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		cc, _ := startGreeters(t, 1).through(r, settings.Settings{})
		var header metadata.MD
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		if upstream := header.Get(service.UpstreamHeader); len(upstream) > 0 {
			t.Errorf("the response reports %q, want no header", upstream)
		}
	})
}

// Envoy's workers share nothing: a connection stays with the worker that accepted it. With fewer
// connections than workers, some workers are idle however many calls there are, and each worker
// balances only the calls of its own connections.
func TestEnvoyHasAtMostOneWorkerPerConnection(t *testing.T) {
	const workers, connections = 4, 2
	g := startGreeters(t, 3)
	r, err := route.Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	o := settings.Settings{Proxy: settings.Proxy{Workers: workers}}
	infrastructure := g.startInfrastructure(r, o)
	for range connections {
		target, err := r.Open(t.Context(), infrastructure.ServiceFor(0), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(target.Close)
		if ids := answering(t.Context(), g.channel(target)); len(ids) != 3 {
			t.Errorf("%v answer, want all 3 backends", ids)
		}
	}
	busy, idle := 0, 0
	for _, n := range infrastructure.Components[0].AcceptedConnections() {
		if n == 0 {
			idle++
		} else {
			busy++
		}
	}
	if busy < 1 || busy > connections || busy+idle != workers {
		t.Errorf("%d workers have connections and %d have none; want at most %d busy of %d", busy, idle, connections, workers)
	}
}
