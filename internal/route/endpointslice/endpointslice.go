// Package endpointslice is a gRPC name resolver that follows a service through the
// EndpointSlice API.
package endpointslice

import (
	"context"
	"sync"

	"google.golang.org/grpc/resolver"

	"rpclab/internal/route/slicewatch"
)

// Scheme of the resolver's URIs: endpointslice:///<service>.<namespace>.
const Scheme = "endpointslice"

// Builder makes resolvers that read one table: the channels of a process share its
// watch, as informers do. The table outlives them.
type Builder struct {
	Table *slicewatch.Table
}

// Scheme implements [resolver.Builder].
func (Builder) Scheme() string { return Scheme }

// Build implements [resolver.Builder].
func (b Builder) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{cancel: cancel}
	f.running.Go(func() { follow(ctx, b.Table, cc) })
	return f, nil
}

// follower keeps one channel current.
type follower struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// ResolveNow does nothing: the table is always current.
func (f *follower) ResolveNow(resolver.ResolveNowOptions) {}

// Close returns when the follower is gone.
func (f *follower) Close() {
	f.cancel()
	f.running.Wait()
}

// follow hands every state of the table to the channel. An empty set is handed on
// too: the balancer then drops the dead addresses and fails calls at once, with
// UNAVAILABLE, rather than let them wait for their deadline. So does an API that
// has never answered. One that answered before and is away changes nothing.
func follow(ctx context.Context, table *slicewatch.Table, cc resolver.ClientConn) {
	for {
		state, changed := table.Now()
		switch {
		case state.Synced:
			// Its error says only that the set is empty or cannot be used, which the
			// channel's own state tells the callers; the next set comes by itself.
			_ = cc.UpdateState(addresses(state.Usable))
		case state.Err != nil:
			cc.ReportError(state.Err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func addresses(set slicewatch.Set) resolver.State {
	var s resolver.State
	for _, e := range set {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: e.Addr.String()}}})
	}
	return s
}
