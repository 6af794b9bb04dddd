package endpointslice

import (
	"context"
	"sync"

	"google.golang.org/grpc/resolver"
)

// Scheme of the resolver's URIs: endpointslice:///<service>.<namespace>.
const Scheme = "endpointslice"

// ResolverBuilder makes resolvers that read one watcher, so that all channels of a process
// share one watch. The watcher must outlive them.
type ResolverBuilder struct {
	Watcher *Watcher
}

// Scheme implements [resolver.Builder].
func (ResolverBuilder) Scheme() string { return Scheme }

// Build implements [resolver.Builder].
func (b ResolverBuilder) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{cancel: cancel}
	f.running.Go(func() { follow(ctx, b.Watcher, cc) })
	return f, nil
}

// follower implements [resolver.Resolver] for one channel.
type follower struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// ResolveNow does nothing: the watcher is always current.
func (f *follower) ResolveNow(resolver.ResolveNowOptions) {}

// Close returns when the goroutine of the resolver has exited.
func (f *follower) Close() {
	f.cancel()
	f.running.Wait()
}

// follow passes every state of the watcher to the channel. On an empty set the balancer
// drops its addresses and fails calls at once with UNAVAILABLE, instead of at their
// deadline. An API that has never answered has the same effect; one that answered before
// and cannot be reached changes nothing.
func follow(ctx context.Context, watcher *Watcher, cc resolver.ClientConn) {
	for {
		state, changed := watcher.Current()
		switch {
		case state.Synced:
			// The error means that the set is empty or unusable. Callers see that from the
			// channel's state, and the watcher pushes the next set.
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

func addresses(set Set) resolver.State {
	var s resolver.State
	for _, e := range set {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: e.Addr.String()}}})
	}
	return s
}
