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
		t.Errorf("%v answer, want b1 alone", ids)
	}
}

func TestDirectNeedsAReadyBackend(t *testing.T) {
	g := startGreeters(t, 1)
	g.stop(1)
	g.published()
	r, err := route.Lookup("direct")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), g.service, settings.Settings{}, nil); err == nil || !strings.Contains(err.Error(), "no endpoint of greeter is ready") {
		t.Errorf("error %v", err)
	}
}

func TestAClusterIPConnectionStaysWhereItIs(t *testing.T) {
	g := startGreeters(t, 3)
	target, heard := g.open("clusterip")
	cc := g.channel(target)
	first := answering(t.Context(), cc)
	g.start(4)
	if ids := answering(t.Context(), cc); len(first) != 1 || !slices.Equal(ids, first) {
		t.Errorf("%v answer, then %v; want one and the same", first, ids)
	}
	if told := heard.last(); told != nil {
		t.Errorf("the resolver was updated with %v; the node's table is not the client's", told)
	}
}

// 2,000 dials at once over 4 backends: each is chosen within 6 σ of 500 (binomial,
// σ = 19.4), so that a false alarm is one in 10⁸.
func TestClusterIPChoosesAtRandomForEachConnection(t *testing.T) {
	g := startGreeters(t, 4)
	target, _ := g.open("clusterip")
	var mu sync.Mutex
	chosen := map[string]int{}
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
			chosen[conn.RemoteAddr().(*net.TCPAddr).IP.String()]++
		})
	}
	all.Wait()
	for ip, n := range chosen {
		if n < 500-117 || n > 500+117 {
			t.Errorf("%s chosen %d times of 2000, want 500 ± 117", ip, n)
		}
	}
	if len(chosen) != 4 {
		t.Errorf("%v chosen, want 4", slices.Sorted(maps.Keys(chosen)))
	}
}

func TestClusterIPRefusesWithoutAReadyBackend(t *testing.T) {
	g := startGreeters(t, 1)
	target, _ := g.open("clusterip")
	g.stop(1)
	eventually(t, func() (bool, string) {
		conn, err := target.Dial(t.Context(), "greeter:1")
		if err == nil {
			_ = conn.Close()
			return false, "a connection"
		}
		// The backend's own refusal does not name the service.
		return errors.Is(err, syscall.ECONNREFUSED) && strings.Contains(err.Error(), "no ready endpoint"), err.Error()
	})
}

func TestEndpointSliceFailsCallsFastOnAnEmptySetAndRecovers(t *testing.T) {
	g := startGreeters(t, 1)
	target, heard := g.open("endpointslice")
	cc := g.channel(target)
	if _, err := call(t.Context(), cc); err != nil {
		t.Fatal(err)
	}
	g.endpoints.Remove("b1") // the server itself runs on: only the set is empty
	eventually(t, func() (bool, string) {
		_, err := call(t.Context(), cc)
		told := heard.last()
		return status.Code(err) == codes.Unavailable && len(told) == 0, fmt.Sprintf("%v, told %v; want the empty set", err, told)
	})
	g.start(2)
	eventually(t, func() (bool, string) {
		_, err := call(t.Context(), cc)
		return err == nil, fmt.Sprint(err)
	})
}

// KEP-1669: the last backends answer while they drain.
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
			return slices.Equal(ids, step.want), fmt.Sprintf("%v with %s drained", ids, step.drained)
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
	if err := listener.Close(); err != nil { // now no one listens there
		t.Fatal(err)
	}
	target, _ := g.open("endpointslice")
	if _, err := call(t.Context(), g.channel(target)); status.Code(err) != codes.Unavailable {
		t.Errorf("error %v, want UNAVAILABLE", err)
	}
}

// More than 100 endpoints are several slices: endpointslice and headless know all
// of them, kuberesolver only those of the slice it saw last.
func TestWhoSeesEverySlice(t *testing.T) {
	endpoints := cluster.NewEndpoints()
	for i := range 150 {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 78, byte(i + 1)}), 9) // no one there: only known
		endpoints.Set(cluster.Endpoint{ID: fmt.Sprintf("b%03d", i), Addr: addr, Serving: true})
	}
	p, err := publish.Serve(endpoints, publish.Names{Service: "greeter", Namespace: "default", Port: 9}, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	g := &greeters{t: t, service: p.Service()}
	for name, want := range map[string]int{"endpointslice": 150, "headless": 150, "kuberesolver": 50} {
		t.Run(name, func(t *testing.T) {
			g.t = t
			target, heard := g.open(name)
			g.channel(target).Connect()
			eventually(t, func() (bool, string) {
				n := len(heard.last())
				return n == want, fmt.Sprintf("%d addresses, want %d", n, want)
			})
		})
	}
}
