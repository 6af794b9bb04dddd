package route_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
	"rpclab/internal/workload"
)

// balancers are the routes whose clients balance by themselves, told by a service config
// or by a control plane.
var balancers = []string{"endpointslice", "xds"}

// serve runs a real server under test as backend bn, until the test ends or it is ended.
func (g *greeters) serve(n int, s *workload.Server, zone string) (end func()) {
	g.t.Helper()
	s.ID, s.Log = fmt.Sprintf("b%d", n), slog.New(slog.DiscardHandler)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.77.%d:%d", n, g.port))
	if err != nil {
		g.t.Fatal(err)
	}
	addr := listener.Addr().(*net.TCPAddr).AddrPort()
	g.port = int(addr.Port())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(ctx, listener) // ends with ctx
	}()
	end = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	g.t.Cleanup(end)
	g.endpoints.Set(cluster.Endpoint{ID: s.ID, Addr: addr, Serving: true, Zone: zone})
	return end
}

// servers are backends b1 to bn, each with such a delay.
func servers(t *testing.T, delays ...time.Duration) *greeters {
	g := startGreeters(t, 0)
	for i, delay := range delays {
		g.serve(i+1, &workload.Server{Delay: delay, ReportLoad: true}, "")
	}
	return g
}

// greet says who answered; head is sent along.
func greet(ctx context.Context, cc *grpc.ClientConn, head ...string) (string, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, head...), 10*time.Second)
	defer cancel()
	reply, err := rpclabv1.NewGreeterClient(cc).SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"})
	return reply.GetBackend(), err
}

// greeted counts by backend who answers so many calls, of which so many are under way at
// once; a call that fails is counted under its error.
func greeted(ctx context.Context, cc *grpc.ClientConn, calls, atOnce int) map[string]int {
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for range calls / atOnce {
				id, err := greet(ctx, cc)
				if err != nil {
					id = err.Error()
				}
				mu.Lock()
				seen[id]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return seen
}

// eachBalancer runs a test over both.
func eachBalancer(t *testing.T, test func(t *testing.T, name string)) {
	for _, name := range balancers {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

// Of three backends one is ten times slower. Turns would give it a third of the calls;
// least_request as many as it ends, weighted_round_robin 1 in 21 by its load reports.
func TestASlowBackendGetsFewerCalls(t *testing.T) {
	for _, policy := range []string{settings.LeastRequest, settings.WeightedRoundRobin} {
		t.Run(policy, func(t *testing.T) {
			eachBalancer(t, func(t *testing.T, name string) {
				g := servers(t, 100*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond)
				target, _ := g.openWith(name, settings.Settings{Policy: policy})
				cc := g.channel(target)
				eventually(t, func() (bool, string) {
					calls := greeted(t.Context(), cc, 120, 6)
					return calls["b1"] < 24 && calls["b1"]+calls["b2"]+calls["b3"] == 120,
						fmt.Sprintf("%v; want under 24 on b1", calls)
				})
			})
		})
	}
}

func TestTurnsGiveASlowBackendItsShare(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 50*time.Millisecond, 0, 0)
		target, _ := g.openWith(name, settings.Settings{Policy: settings.RoundRobin})
		cc := g.channel(target)
		eventually(t, func() (bool, string) {
			calls := greeted(t.Context(), cc, 30, 1)
			return calls["b1"] == 10, fmt.Sprint(calls)
		})
	})
}

// All 20 channels choose the same of three in one case of 3¹⁹.
func TestPickFirstKeepsToOneThatEachChannelDraws(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0, 0)
		target, _ := g.openWith(name, settings.Settings{Policy: settings.PickFirst})
		drawn := map[string]int{}
		for range 20 {
			calls := greeted(t.Context(), g.channel(target), 6, 1)
			if len(calls) != 1 {
				t.Fatalf("one channel called %v", calls)
			}
			for id := range calls {
				drawn[id]++
			}
		}
		if len(drawn) < 2 {
			t.Errorf("every channel drew the same: %v", drawn)
		}
	})
}

// A backend of three has none of 40 keys in one case of ten million or so.
func TestRingHashGivesAKeyAlwaysToTheSame(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0, 0)
		g.published("127.0.77.1", "127.0.77.2", "127.0.77.3") // a ring that grows moves keys
		target, _ := g.openWith(name, settings.Settings{Policy: settings.RingHash})
		cc := g.channel(target)
		used := map[string]int{}
		for key := range 40 {
			var ids []string
			for range 3 {
				id, err := greet(t.Context(), cc, settings.HashHeader, fmt.Sprint("user", key))
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 1 {
				t.Errorf("key %d went to %v", key, ids)
			}
			used[ids[0]]++
		}
		if len(used) != 3 {
			t.Errorf("40 keys went to %v", used)
		}
	})
}

func TestABackendThatFailsIsLeftOut(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0)
		bad := &workload.Server{}
		bad.SetFault(workload.Fault{Code: codes.Internal})
		g.serve(3, bad, "")
		target, _ := g.openWith(name, settings.Settings{Outlier: &settings.Outlier{
			Failures: 0.5, Calls: 5, Interval: 100 * time.Millisecond, Eject: time.Minute, Most: 0.5,
		}})
		cc := g.channel(target)
		eventually(t, func() (bool, string) {
			calls := greeted(t.Context(), cc, 60, 1)
			return maps.Equal(calls, map[string]int{"b1": 30, "b2": 30}), fmt.Sprint(calls)
		})
	})
}

func TestARetryGoesToAnotherBackend(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0)
		bad := &workload.Server{}
		bad.SetFault(workload.Fault{Code: codes.Unavailable})
		g.serve(3, bad, "")
		target, _ := g.openWith(name, settings.Settings{Retry: &settings.Retry{
			Attempts: 3, Backoff: time.Millisecond, Codes: []string{"UNAVAILABLE"},
		}})
		cc := g.channel(target)
		eventually(t, func() (bool, string) { // before both are connected, the attempts of a call may all go to b3
			calls := greeted(t.Context(), cc, 6, 1)
			return calls["b1"] > 0 && calls["b2"] > 0, fmt.Sprint(calls)
		})
		if calls := greeted(t.Context(), cc, 60, 1); calls["b1"]+calls["b2"] != 60 {
			t.Errorf("%v; want all answered by b1 and b2", calls)
		}
	})
}
