package route_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/cluster"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// TestEveryRoute tests what every route must do. It finds a new route by its registration.
func TestEveryRoute(t *testing.T) {
	for _, name := range route.Names() {
		r, err := route.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Run("has documentation", func(t *testing.T) {
				if r.Doc == "" {
					t.Error("no Doc")
				}
			})
			if r.OnlyOn != "" { // test/kube tests the rest on that cluster
				t.Run("names the cluster that it needs", func(t *testing.T) { namesItsCluster(t, r) })
				return
			}
			t.Run("calls succeed", func(t *testing.T) {
				g := startGreeters(t, 3)
				target, _ := g.open(name)
				cc := g.channel(target)
				for range 30 {
					if _, err := call(t.Context(), cc); err != nil {
						t.Fatal(err)
					}
				}
			})
			t.Run("calls only present backends", func(t *testing.T) {
				g := startGreeters(t, 2)
				g.stop(1)
				g.start(3)
				g.awaitPublished("127.0.77.2", "127.0.77.3") // some routes read the endpoints only once
				target, _ := g.open(name)
				cc := g.channel(target)
				eventually(t, func() (bool, string) {
					ids := answering(t.Context(), cc)
					return ids != nil && !slices.Contains(ids, "b1"), fmt.Sprint(ids)
				})
			})
			t.Run("survives the kill of a backend", func(t *testing.T) {
				g := startGreeters(t, 3)
				target, _ := g.open(name)
				cc := g.channel(target)
				var victim string
				eventually(t, func() (bool, string) {
					ids := answering(t.Context(), cc)
					if ids != nil {
						victim = ids[len(ids)-1]
					}
					return ids != nil, "a call that failed"
				})
				if name == "direct" { // its one backend must not be the victim
					victim = "b3"
				}
				g.kill(int(victim[1] - '0'))
				eventually(t, func() (bool, string) {
					ids := answering(t.Context(), cc)
					return ids != nil && !slices.Contains(ids, victim), fmt.Sprint(ids)
				})
			})
			if len(r.Policies) > 0 { // it balances calls, not connections
				t.Run("balances calls evenly", func(t *testing.T) { balancesEvenly(t, name) })
				t.Run("follows changes", func(t *testing.T) { followsChanges(t, r) })
			}
			for end := time.Now().Add(30 * time.Second); goleak.Find(before) != nil && time.Now().Before(end); { // closing may take a while
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// namesItsCluster checks the error of a route that the local cluster does not have.
func namesItsCluster(t *testing.T, r route.Route) {
	_, err := r.Open(t.Context(), cluster.Service{Name: "greeter", Port: 50051}, settings.Settings{}, nil)
	if err == nil || !strings.Contains(err.Error(), "Kubernetes") {
		t.Errorf("error %v, want one that names Kubernetes", err)
	}
}

// balancesEvenly checks that the default policy of a route sends every backend the same share of
// calls, as soon as the route knows all backends.
func balancesEvenly(t *testing.T, name string) {
	g := startGreeters(t, 3)
	target, _ := g.open(name)
	cc := g.channel(target)
	eventually(t, func() (bool, string) {
		calls := answered(t.Context(), cc, 90)
		even := len(calls) == 3
		for _, n := range calls {
			even = even && n >= 27 && n <= 33
		}
		return even, fmt.Sprintf("%v of 90 calls; want 27 to 33 for each of 3 backends", calls)
	})
}

// followsChanges checks that an open channel calls the present backends after each change, and
// that the resolver, if the client has one, was updated with their addresses. Every change breaks
// a connection, after which the dns resolver resolves again.
func followsChanges(t *testing.T, r route.Route) {
	g := startGreeters(t, 3)
	target, updates := g.open(r.Name)
	cc := g.channel(target)
	for _, step := range []struct {
		name     string
		change   func()
		backends []int
	}{
		{"at first", func() {}, []int{1, 2, 3}},
		{"one replaced", func() { g.start(4); g.stop(1) }, []int{2, 3, 4}},
		{"scaled down to one", func() { g.stop(2); g.stop(3) }, []int{4}},
		{"scaled up by one, one replaced", func() { g.start(5); g.start(6); g.stop(4) }, []int{5, 6}},
	} {
		step.change()
		var wantIDs, wantAddrs []string
		for _, n := range step.backends {
			wantIDs = append(wantIDs, fmt.Sprintf("b%d", n))
			wantAddrs = append(wantAddrs, fmt.Sprintf("127.0.77.%d:%d", n, g.port))
		}
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, wantIDs) && (r.Discovery == route.DiscoveryNone || slices.Equal(updates.last(), wantAddrs)),
				fmt.Sprintf("%s: %v answer, the resolver was updated with %v; want %v, %v", step.name, ids, updates.last(), wantIDs, wantAddrs)
		})
	}
}

func TestUnknownRouteErrorListsTheRoutes(t *testing.T) {
	_, err := route.Lookup("carrier-pigeon")
	const want = `no route "carrier-pigeon"; known names: direct, clusterip, forwarder, headless, endpointslice, kuberesolver, xds, envoy, haproxy, nginx, nodeport, linkerd, istio, istio-xds`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
