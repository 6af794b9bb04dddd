package wire

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	_ "google.golang.org/grpc" // registers the resolvers dns, passthrough and unix
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	engine "rpclab/internal/wire"
)

// resolverConn passes addresses from a gRPC resolver to an engine. It implements
// [resolver.ClientConn].
type resolverConn struct {
	resolver.ClientConn // nil; for methods that the interface may gain

	mu       sync.Mutex
	engine   *engine.Engine
	resolver resolver.Resolver // nil before start and after close
}

// start builds the resolver of the target's scheme: a resolver of the route, or a resolver
// registered with grpc-go.
func (r *resolverConn) start(to *engine.Engine, target *url.URL, own []resolver.Builder) error {
	builder := resolver.Get(target.Scheme)
	if i := slices.IndexFunc(own, func(b resolver.Builder) bool { return b.Scheme() == target.Scheme }); i >= 0 {
		builder = own[i]
	}
	if builder == nil {
		return fmt.Errorf("target %q: no resolver for the scheme %q", target, target.Scheme)
	}
	r.engine = to
	built, err := builder.Build(resolver.Target{URL: *target}, r, resolver.BuildOptions{DisableServiceConfig: true})
	if err != nil {
		return fmt.Errorf("target %q: %w", target, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resolver = built
	return nil
}

// resolveNow asks the resolver to resolve again, as a channel does after losing a connection.
func (r *resolverConn) resolveNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resolver != nil {
		r.resolver.ResolveNow(resolver.ResolveNowOptions{})
	}
}

func (r *resolverConn) close() {
	r.mu.Lock()
	running := r.resolver
	r.resolver = nil
	r.mu.Unlock()
	if running != nil {
		running.Close()
	}
}

// UpdateState stores a new set of addresses, from whichever field the resolver uses.
func (r *resolverConn) UpdateState(state resolver.State) error {
	var addrs []string
	for _, e := range state.Endpoints {
		for _, a := range e.Addresses {
			addrs = append(addrs, a.Addr)
		}
	}
	if len(state.Endpoints) == 0 {
		for _, a := range state.Addresses {
			addrs = append(addrs, a.Addr)
		}
	}
	r.engine.SetAddresses(addrs)
	if len(addrs) == 0 {
		return errors.New("no address")
	}
	return nil
}

// ReportError implements [resolver.ClientConn]: the addresses known before stay in use.
func (r *resolverConn) ReportError(err error) { r.engine.SetResolverError(err) }

// NewAddress is the deprecated form of UpdateState.
func (r *resolverConn) NewAddress(addrs []resolver.Address) {
	_ = r.UpdateState(resolver.State{Addresses: addrs}) // NewAddress has no result
}

// ParseServiceConfig rejects service configs: the target's is known from the start.
func (r *resolverConn) ParseServiceConfig(string) *serviceconfig.ParseResult {
	return &serviceconfig.ParseResult{Err: errors.New("the resolver's service config is ignored")}
}
