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

// balancers are two routes whose clients balance calls: one is configured by a service config,
// the other by a control plane.
var balancers = []string{"endpointslice", "xds"}

// serve runs a server of rpclab as backend bn until the test ends or end is called.
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

// servers starts backends b1 to bn with these delays.
func servers(t *testing.T, delays ...time.Duration) *greeters {
	g := startGreeters(t, 0)
	for i, delay := range delays {
		g.serve(i+1, &workload.Server{Delay: delay, ReportLoad: true}, "")
	}
	return g
}

// greet makes a call with this metadata and returns the identity of the backend that answered.
func greet(ctx context.Context, cc *grpc.ClientConn, metadataPairs ...string) (string, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, metadataPairs...), 10*time.Second)
	defer cancel()
	reply, err := rpclabv1.NewGreeterClient(cc).SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"})
	return reply.GetBackend(), err
}

// greeted makes calls at a concurrency and counts them by backend, failed calls by error.
func greeted(ctx context.Context, cc *grpc.ClientConn, calls, concurrency int) map[string]int {
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for range concurrency {
		all.Go(func() {
			for range calls / concurrency {
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

// eachBalancer runs a test over each of balancers.
func eachBalancer(t *testing.T, test func(t *testing.T, name string)) {
	for _, name := range balancers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

// One of three backends is ten times slower. round_robin would send it a third of the calls,
// least_request sends as many as it completes, and weighted_round_robin 1 in 21, by its load
// reports.
func TestSlowBackendGetsFewerCalls(t *testing.T) {
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

func TestRoundRobinSendsASlowBackendItsFullShare(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 50*time.Millisecond, 0, 0)
		target, _ := g.openWith(name, settings.Settings{Policy: settings.RoundRobin})
		cc := g.channel(target)
		eventually(t, func() (bool, string) {
			calls := greeted(t.Context(), cc, 30, 1)
			return calls["b1"] == 10, fmt.Sprintf("%v; want 10 on b1", calls)
		})
	})
}

// All 20 channels pick the same backend of three with a probability of 3⁻¹⁹.
func TestPickFirstUsesOneRandomBackendPerChannel(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0, 0)
		g.awaitPublished("127.0.77.1", "127.0.77.2", "127.0.77.3") // a channel without a backend fails its calls
		target, _ := g.openWith(name, settings.Settings{Policy: settings.PickFirst})
		picked := map[string]int{}
		for range 20 {
			calls := greeted(t.Context(), g.channel(target), 6, 1)
			if len(calls) != 1 {
				t.Fatalf("the calls of one channel went to %v, want one backend", calls)
			}
			for id := range calls {
				picked[id]++
			}
		}
		if len(picked) < 2 {
			t.Errorf("20 channels picked %v, want at least two backends", picked)
		}
	})
}

// With 40 keys, one of three backends has no key with a probability of about 10⁻⁷.
func TestRingHashSendsAKeyToOneBackend(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0, 0)
		g.awaitPublished("127.0.77.1", "127.0.77.2", "127.0.77.3") // a ring that grows moves keys
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
				t.Errorf("the calls with key %d went to %v, want one backend", key, ids)
			}
			used[ids[0]]++
		}
		if len(used) != 3 {
			t.Errorf("40 keys went to %v, want all 3 backends", used)
		}
	})
}

func TestOutlierDetectionEjectsAFailingBackend(t *testing.T) {
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
			return maps.Equal(calls, map[string]int{"b1": 30, "b2": 30}), fmt.Sprintf("%v; want 30 on b1 and 30 on b2", calls)
		})
	})
}

func TestRetryGoesToAnotherBackend(t *testing.T) {
	eachBalancer(t, func(t *testing.T, name string) {
		g := servers(t, 0, 0)
		bad := &workload.Server{}
		bad.SetFault(workload.Fault{Code: codes.Unavailable})
		g.serve(3, bad, "")
		target, _ := g.openWith(name, settings.Settings{Retry: &settings.Retry{
			Attempts: 3, Backoff: time.Millisecond, Codes: []string{"UNAVAILABLE"},
		}})
		cc := g.channel(target)
		eventually(t, func() (bool, string) { // until b1 and b2 are connected, all attempts of a call may go to b3
			calls := greeted(t.Context(), cc, 6, 1)
			return calls["b1"] > 0 && calls["b2"] > 0, fmt.Sprintf("%v; want answers of b1 and b2", calls)
		})
		if calls := greeted(t.Context(), cc, 60, 1); calls["b1"]+calls["b2"] != 60 {
			t.Errorf("%v; want all answered by b1 and b2", calls)
		}
	})
}
