package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
)

// publishedBurst is the number of calls of a request without n, as published.
const publishedBurst = 1000

// burst handles /experiment/client and /: it makes n calls at once.
func (g *Gateway) burst(ctx context.Context, q *query) (response, error) {
	kind := q.choice("type", "Client", "ClientWithReuseConn", "ClientWithKubeResolver")
	n := q.number("n", publishedBurst, 1, maxBurst)
	if err := q.finish(); err != nil {
		return response{}, err
	}
	opened, open := &g.clusterIP, g.options.ClusterIP
	if kind == "ClientWithKubeResolver" {
		opened, open = &g.kubeResolver, func() (caller.Target, error) { return g.options.KubeResolver(g.watched.update) }
	}
	o, err := g.openRoute(opened, open)
	if err != nil {
		return response{}, err
	}
	if opened == &g.kubeResolver { // the study connects it when its program starts
		g.watched.connect(ctx, o.channel)
	}
	channel := func() (*grpc.ClientConn, error) { return o.channel, nil }
	if kind == "Client" {
		channel = func() (*grpc.ClientConn, error) { return g.dial(o.target) }
	}
	// The requests to this path together have at most maxBurst calls in flight.
	if err := g.bursts.Acquire(ctx, int64(n)); err != nil {
		return response{}, err
	}
	defer g.bursts.Release(int64(n))
	var mu sync.Mutex
	backends, addresses, failed := map[string]int{}, map[string]int{}, map[string]int{}
	var calls sync.WaitGroup
	began := time.Now()
	for range n {
		calls.Go(func() {
			server, address, err := greet(ctx, channel, kind == "Client")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[caller.Code(err)]++
				return
			}
			backends[server]++
			addresses[address]++
		})
	}
	calls.Wait()
	body := map[string]any{"time": float64(time.Since(began).Microseconds()) / 1e3, "count_per_ip": addresses}
	if len(failed) > 0 {
		body["errors"] = failed
	}
	return response{body, backends}, nil
}

// greet makes one call and returns the server and its IP address. It closes the channel if the call does
// not share it.
func greet(ctx context.Context, open func() (*grpc.ClientConn, error), own bool) (server, address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	channel, err := open()
	if err != nil {
		return "", "", err
	}
	if own {
		defer func() { err = errors.Join(err, channel.Close()) }()
	}
	var from peer.Peer
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: "gateway"}, grpc.Peer(&from))
	return reply.GetBackend(), serverIP(reply.GetBackend(), from), err
}

// serverIP is the IP address of a server: its identity, if that is one, as of a pod behind a cluster IP; else
// that of the connection.
func serverIP(server string, from peer.Peer) string {
	if _, err := netip.ParseAddr(server); err == nil || from.Addr == nil {
		return server
	}
	host, _, err := net.SplitHostPort(from.Addr.String())
	if err != nil {
		return server // not an IP connection
	}
	return host
}

// openRoute opens a route for /experiment/client at the first use.
func (g *Gateway) openRoute(o *openRoute, open func() (caller.Target, error)) (openRoute, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.channel != nil {
		return *o, nil
	}
	target, err := open()
	if err != nil {
		return openRoute{}, httpError{400, "FAILED_PRECONDITION", err.Error()}
	}
	channel, err := g.dial(target)
	if err != nil {
		target.Close()
		return openRoute{}, err
	}
	*o = openRoute{target, channel}
	return *o, nil
}
