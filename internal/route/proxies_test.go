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
	"google.golang.org/grpc/status"

	"rpclab/internal/route"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// proxies are the routes through a program of others.
func proxies(t *testing.T, test func(*testing.T, route.Route)) {
	t.Helper()
	for _, name := range route.Names() {
		r, err := route.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Binary != "" {
			t.Run(name, func(t *testing.T) { test(t, r) })
		}
	}
}

// through opens a route with what stands there, and says what does.
func (g *greeters) through(r route.Route, o settings.Settings) (*grpc.ClientConn, route.Infrastructure) {
	g.t.Helper()
	o.Proxy.Workers = max(o.Proxy.Workers, 1)
	standing := g.stand(r, o)
	target, err := r.Open(g.t.Context(), standing.ServiceFor(0), o, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(target.Close)
	return g.channel(target), standing
}

func TestAKilledProxyComesBackAndKnowsItsBackends(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 2)
		cc, standing := g.through(r, settings.Settings{})
		if _, err := call(t.Context(), cc); err != nil {
			t.Fatal(err)
		}
		g.start(3)
		for _, p := range standing.Components {
			if p.Role == component.Proxy {
				if err := p.Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprint(ids)
		})
		g.stop(1)
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, []string{"b2", "b3"}), fmt.Sprint(ids)
		})
	})
}

func TestAProxySpreadsByEveryPolicyThatItsRouteNames(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 3)
		for _, policy := range r.Policies {
			t.Run(policy, func(t *testing.T) {
				g.t = t
				cc, standing := g.through(r, settings.Settings{Policy: policy})
				eventually(t, func() (bool, string) { // random may leave one out
					ids := answering(t.Context(), cc)
					return slices.Equal(ids, []string{"b1", "b2", "b3"}), fmt.Sprint(ids)
				})
				if len(standing.Files) == 0 {
					t.Error("its configuration is not kept")
				}
			})
		}
	})
}

func TestEachCallerHasItsSidecar(t *testing.T) {
	proxies(t, func(t *testing.T, r route.Route) {
		g := startGreeters(t, 1)
		g.callers = 2
		_, standing := g.through(r, settings.Settings{Proxy: settings.Proxy{Sidecar: true}})
		count := 0
		for _, p := range standing.Components {
			if p.Role == component.Proxy {
				count++
			}
		}
		if count != 2 || len(standing.Services) != 2 || standing.Services[0].Proxy == standing.Services[1].Proxy {
			t.Errorf("%d proxies, at %v", count, standing.Services)
		}
	})
}

func TestAProxyWhosePortIsTakenSaysSo(t *testing.T) {
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
		if err == nil || !strings.Contains(err.Error(), r.Binary+"-0 exited before it was ready") ||
			!strings.Contains(strings.ToLower(err.Error()), "address") {
			t.Errorf("error %v", err)
		}
	})
}

func TestAProxyThatIsNotInstalledSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("RPCLAB_TOOLS_DIR", t.TempDir())
	r, err := route.Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Start(t.Context(), startGreeters(t, 1).service, settings.Settings{}, route.Host{})
	if !errors.Is(err, tool.ErrMissing) || !strings.Contains(err.Error(), "rpclab doctor --install envoy") {
		t.Errorf("error %v", err)
	}
}

// A channel that is never idle follows too, and loses no call as long as backends go in
// good order.
func TestABusyChannelFollowsThroughAProxy(t *testing.T) {
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
		eventually(t, func() (bool, string) { // it is called no more, so that it can go
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

// Envoy's workers share nothing: a connection stays with the worker that accepted it, so
// that with fewer connections than workers some have nothing to do, however many calls
// there are, and each worker spreads the calls of its own connections alone.
func TestEnvoyUsesNoMoreWorkersThanThereAreConnections(t *testing.T) {
	const workers, connections = 4, 2
	g := startGreeters(t, 3)
	r, err := route.Lookup("envoy")
	if err != nil {
		t.Fatal(err)
	}
	o := settings.Settings{Proxy: settings.Proxy{Workers: workers}}
	standing := g.stand(r, o)
	for range connections {
		target, err := r.Open(t.Context(), standing.ServiceFor(0), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(target.Close)
		if ids := answering(t.Context(), g.channel(target)); len(ids) != 3 {
			t.Errorf("%v answer", ids)
		}
	}
	busy, idle := 0, 0
	for _, n := range standing.Components[0].AcceptedConnections() {
		if n == 0 {
			idle++
		} else {
			busy++
		}
	}
	if busy < 1 || busy > connections || busy+idle != workers {
		t.Errorf("%d workers have connections, %d have none; want at most %d of %d", busy, idle, connections, workers)
	}
}
