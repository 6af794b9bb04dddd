package route_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

func TestDirectStaysWithOneBackend(t *testing.T) {
	g := startGreeters(t, 3)
	target, _ := g.open("direct")
	if ids := answering(t.Context(), g.channel(target)); !slices.Equal(ids, []string{"b1"}) {
		t.Errorf("%v answer, want only b1", ids)
	}
}

func TestDirectNeedsAReadyBackend(t *testing.T) {
	g := startGreeters(t, 1)
	g.stop(1)
	g.awaitPublished()
	r, err := route.Lookup("direct")
	if err != nil {
		t.Fatal(err)
	}
	const want = "no endpoint of greeter is ready"
	if _, err := r.Open(t.Context(), g.service, settings.Settings{}, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestClusterIPConnectionStaysWithItsBackend(t *testing.T) {
	g := startGreeters(t, 3)
	target, updates := g.open("clusterip")
	cc := g.channel(target)
	first := answering(t.Context(), cc)
	g.start(4)
	if ids := answering(t.Context(), cc); len(first) != 1 || !slices.Equal(ids, first) {
		t.Errorf("%v answer at first and %v after a scale-up; want one backend, the same", first, ids)
	}
	if addrs := updates.last(); addrs != nil {
		t.Errorf("the resolver was updated with %v, want no update: the client knows only the virtual IP", addrs)
	}
}

// 2,000 dials to 4 backends: each backend is picked 500 times ± 6 σ (binomial, σ = 19.4). The
// test fails by chance with a probability of 10⁻⁸.
func TestClusterIPPicksARandomBackendForEachConnection(t *testing.T) {
	g := startGreeters(t, 4)
	target, _ := g.open("clusterip")
	var mu sync.Mutex
	picked := map[string]int{}
	var all sync.WaitGroup
	for range 2000 {
		all.Go(func() {
			conn, err := target.Dial(t.Context(), "ignored")
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			mu.Lock()
			defer mu.Unlock()
			picked[conn.RemoteAddr().(*net.TCPAddr).IP.String()]++
		})
	}
	all.Wait()
	for ip, n := range picked {
		if n < 500-117 || n > 500+117 {
			t.Errorf("%s was picked %d times of 2000, want 500 ± 117", ip, n)
		}
	}
	if len(picked) != 4 {
		t.Errorf("%v were picked, want 4 backends", slices.Sorted(maps.Keys(picked)))
	}
}

func TestClusterIPRefusesConnectionsWithoutAReadyBackend(t *testing.T) {
	g := startGreeters(t, 1)
	target, _ := g.open("clusterip")
	g.stop(1)
	eventually(t, func() (bool, string) {
		conn, err := target.Dial(t.Context(), "greeter:1")
		if err == nil {
			_ = conn.Close()
			return false, "a connection, want an error"
		}
		// The backend's own refusal does not name the service.
		return errors.Is(err, syscall.ECONNREFUSED) && strings.Contains(err.Error(), "no ready endpoint"), err.Error()
	})
}

func TestEndpointSliceFailsCallsFastWithoutBackendsAndRecovers(t *testing.T) {
	g := startGreeters(t, 1)
	target, updates := g.open("endpointslice")
	cc := g.channel(target)
	if _, err := call(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	g.endpoints.Remove("b1") // only the endpoint: the server still runs
	eventually(t, func() (bool, string) {
		_, err := call(t.Context(), cc)
		addrs := updates.last()
		return status.Code(err) == codes.Unavailable && len(addrs) == 0, fmt.Sprintf("error %v, last update %v; want UNAVAILABLE and an empty update", err, addrs)
	})
	g.start(2)
	eventually(t, func() (bool, string) {
		_, err := call(t.Context(), cc)
		return err == nil, fmt.Sprint(err)
	})
}

// The last backends of a service receive calls while they drain (KEP-1669).
func TestEndpointSliceUsesDrainingBackendsWhenNoneIsReady(t *testing.T) {
	g := startGreeters(t, 2)
	drain := func(id string) {
		now, _ := g.endpoints.Current()
		for _, e := range now.Endpoints {
			if e.ID == id {
				e.Terminating = true
				g.endpoints.Set(e)
			}
		}
	}
	target, _ := g.open("endpointslice")
	cc := g.channel(target)
	for _, step := range []struct {
		drained string
		want    []string
	}{{"b1", []string{"b2"}}, {"b2", []string{"b1", "b2"}}} {
		drain(step.drained)
		eventually(t, func() (bool, string) {
			ids := answering(t.Context(), cc)
			return slices.Equal(ids, step.want), fmt.Sprintf("%v answer while %s drains, want %v", ids, step.drained, step.want)
		})
	}
}

func TestEndpointSliceFailsCallsFastWithoutAnAPI(t *testing.T) {
	g := startGreeters(t, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.service.API = "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil { // nothing listens there any more
		t.Fatal(err)
	}
	target, _ := g.open("endpointslice")
	if _, err := call(t.Context(), g.channel(target)); status.Code(err) != codes.Unavailable {
		t.Errorf("error %v, want UNAVAILABLE", err)
	}
}

// A slice has at most 100 endpoints: endpointslice, headless and xds know the endpoints of all slices,
// kuberesolver only those of the slice that changed last.
func TestKuberesolverUsesOnlyOneSlice(t *testing.T) {
	endpoints := cluster.NewEndpoints()
	for i := range 150 {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 78, byte(i + 1)}), 9) // published, but nothing listens there
		endpoints.Set(cluster.Endpoint{ID: fmt.Sprintf("b%03d", i), Addr: addr, Serving: true})
	}
	p, err := publish.Serve(endpoints, publish.Names{Service: "greeter", Namespace: "default", Port: 9}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	g := &greeters{t: t, service: p.Service()}
	for name, want := range map[string]int{"endpointslice": 150, "headless": 150, "xds": 150, "kuberesolver": 50} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			target, updates := g.open(name)
			g.channel(target).Connect()
			eventually(t, func() (bool, string) {
				n := len(updates.last())
				return n == want, fmt.Sprintf("%d addresses, want %d", n, want)
			})
		})
	}
}
