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

// What every route must do. A new route is tested here by being registered.
func TestEveryRoute(t *testing.T) {
	for _, name := range route.Names() {
		r, err := route.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			here := goleak.IgnoreCurrent()
			t.Run("explains itself", func(t *testing.T) {
				if r.Doc == "" {
					t.Error("no Doc")
				}
			})
			if r.OnlyOn != "" { // there it is held to the rest
				t.Run("says which cluster it needs", func(t *testing.T) { needs(t, r) })
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
			t.Run("a route opened after a change goes only to what is there", func(t *testing.T) {
				g := startGreeters(t, 2)
				g.stop(1)
				g.start(3)
				g.published("127.0.77.2", "127.0.77.3") // who never asks again has to ask late enough
				target, _ := g.open(name)
				cc := g.channel(target)
				eventually(t, func() (bool, string) {
					ids := answering(t.Context(), cc)
					return ids != nil && !slices.Contains(ids, "b1"), fmt.Sprint(ids)
				})
			})
			t.Run("survives a kill", func(t *testing.T) {
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
				if name == "direct" { // it knows one backend, and that one is not to survive
					victim = "b3"
				}
				g.kill(int(victim[1] - '0'))
				eventually(t, func() (bool, string) {
					ids := answering(t.Context(), cc)
					return ids != nil && !slices.Contains(ids, victim), fmt.Sprint(ids)
				})
			})
			if len(r.Policies) > 0 { // it spreads calls, not connections
				t.Run("spreads evenly", func(t *testing.T) { spreads(t, name) })
				t.Run("follows", func(t *testing.T) { follows(t, r) })
			}
			for end := time.Now().Add(30 * time.Second); goleak.Find(here) != nil && time.Now().Before(end); { // what is closing may take its time
			}
			goleak.VerifyNone(t, here)
		})
	}
}

// needs checks that a route which this machine's cluster does not have says so.
func needs(t *testing.T, r route.Route) {
	_, err := r.Open(t.Context(), cluster.Service{Name: "greeter", Port: 50051}, settings.Settings{}, nil)
	if err == nil || !strings.Contains(err.Error(), "Kubernetes") {
		t.Errorf("error %v", err)
	}
}

// spreads checks that a route's own way gives every backend the same share of calls,
// as soon as it knows them all.
func spreads(t *testing.T, name string) {
	g := startGreeters(t, 3)
	target, _ := g.open(name)
	cc := g.channel(target)
	eventually(t, func() (bool, string) {
		calls := answered(t.Context(), cc, 90)
		even := len(calls) == 3
		for _, n := range calls {
			even = even && n >= 27 && n <= 33
		}
		return even, fmt.Sprintf("%v of 90 calls", calls)
	})
}

// follows checks that an open channel reaches all backends, then what is left and
// added when one is replaced, and that a route that tells says the same. A backend goes with
// its connection, so that a resolver which asks again only then follows too.
func follows(t *testing.T, r route.Route) {
	g := startGreeters(t, 3)
	target, heard := g.open(r.Name)
	cc := g.channel(target)
	for _, step := range []struct {
		what   string
		do     func()
		answer []string
		told   []int
	}{
		{"at first", func() {}, []string{"b1", "b2", "b3"}, []int{1, 2, 3}},
		{"one replaced", func() { g.start(4); g.stop(1) }, []string{"b2", "b3", "b4"}, []int{2, 3, 4}},
		{"scaled down to one", func() { g.stop(2); g.stop(3) }, []string{"b4"}, []int{4}},
		{"scaled up by one, one replaced", func() { g.start(5); g.start(6); g.stop(4) }, []string{"b5", "b6"}, []int{5, 6}},
	} {
		step.do()
		var told []string
		for _, n := range step.told {
			told = append(told, fmt.Sprintf("127.0.77.%d:%d", n, g.port))
		}
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, step.answer) && (r.Discovery == route.DiscoveryNone || slices.Equal(heard.last(), told)),
				fmt.Sprintf("%s: %v answer, told %v; want %v, %v", step.what, ids, heard.last(), step.answer, told)
		})
	}
}

func TestAnUnknownRouteNamesTheKnown(t *testing.T) {
	_, err := route.Lookup("carrier-pigeon")
	const want = `no route "carrier-pigeon"; known names: direct, clusterip, forwarder, headless, endpointslice, kuberesolver, xds, envoy, haproxy, nginx, nodeport, linkerd, istio`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
