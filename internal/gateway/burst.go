package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
)

// mostBurst is the most calls of study 2 at once.
const mostBurst = 10_000

// opened is a route of study 2.
type opened struct {
	target  caller.Target
	channel *grpc.ClientConn
}

// burst is study 2: n greetings at once.
func (g *Gateway) burst(ctx context.Context, q *query) (answer, error) {
	kind := q.word("type", "Client", "ClientWithReuseConn", "ClientWithKubeResolver")
	n := q.required("n", 1, mostBurst)
	if err := q.unknown(); err != nil {
		return answer{}, err
	}
	route := "clusterip"
	if kind == "ClientWithKubeResolver" {
		route = "kuberesolver"
	}
	way, err := g.open(route)
	if err != nil {
		return answer{}, err
	}
	channel := func() (*grpc.ClientConn, error) { return way.channel, nil }
	if kind == "Client" {
		channel = func() (*grpc.ClientConn, error) { return g.dial(way.target) }
	}
	// Requests together have no more calls under way than one may have.
	if err := g.bursts.Acquire(ctx, int64(n)); err != nil {
		return answer{}, err
	}
	defer g.bursts.Release(int64(n))
	var mu sync.Mutex
	backends, failed := map[string]int{}, map[string]int{}
	var calls sync.WaitGroup
	began := time.Now()
	for range n {
		calls.Go(func() {
			server, err := greet(ctx, channel, kind == "Client")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[caller.Code(err)]++
				return
			}
			backends[server]++
		})
	}
	calls.Wait()
	body := map[string]any{"time": float64(time.Since(began).Microseconds()) / 1e3, "count_per_ip": backends}
	if len(failed) > 0 {
		body["errors"] = failed
	}
	return answer{body, backends}, nil
}

// greet makes a call, and closes its channel when it is the call's own.
func greet(ctx context.Context, open func() (*grpc.ClientConn, error), own bool) (server string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	channel, err := open()
	if err != nil {
		return "", err
	}
	if own {
		defer func() { err = errors.Join(err, channel.Close()) }()
	}
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: "gateway"})
	return reply.GetBackend(), err
}

// open is a route of study 2, which is opened at its first use.
func (g *Gateway) open(route string) (opened, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o, ok := g.others[route]; ok {
		return o, nil
	}
	target, err := g.options.Open(route)
	if err != nil {
		return opened{}, failure{400, "FAILED_PRECONDITION", err.Error()}
	}
	channel, err := g.dial(target)
	if err != nil {
		target.Close()
		return opened{}, err
	}
	g.others[route] = opened{target, channel}
	return g.others[route], nil
}
