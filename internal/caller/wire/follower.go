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

// follower is the least that a resolver needs of a channel: it hands the addresses on
// to an engine. It implements [resolver.ClientConn].
type follower struct {
	resolver.ClientConn // for methods that the interface may gain; nil

	mu       sync.Mutex
	engine   *engine.Engine
	resolver resolver.Resolver // nil: not yet, or no more
}

// begin builds the resolver of a target's scheme: one of those that the route brings,
// or one that grpc-go knows.
func (f *follower) begin(e *engine.Engine, target *url.URL, own []resolver.Builder) error {
	builder := resolver.Get(target.Scheme)
	if i := slices.IndexFunc(own, func(b resolver.Builder) bool { return b.Scheme() == target.Scheme }); i >= 0 {
		builder = own[i]
	}
	if builder == nil {
		return fmt.Errorf("target %q: no resolver for the scheme %q", target, target.Scheme)
	}
	f.engine = e
	built, err := builder.Build(resolver.Target{URL: *target}, f, resolver.BuildOptions{DisableServiceConfig: true})
	if err != nil {
		return fmt.Errorf("target %q: %w", target, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resolver = built
	return nil
}

// ask asks the resolver for another look, as a channel does that lost a connection.
func (f *follower) ask() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resolver != nil {
		f.resolver.ResolveNow(resolver.ResolveNowOptions{})
	}
}

func (f *follower) close() {
	f.mu.Lock()
	r := f.resolver
	f.resolver = nil
	f.mu.Unlock()
	if r != nil {
		r.Close()
	}
}

// UpdateState follows a set of addresses, in either of the forms that a resolver uses.
func (f *follower) UpdateState(s resolver.State) error {
	var addrs []string
	for _, e := range s.Endpoints {
		for _, a := range e.Addresses {
			addrs = append(addrs, a.Addr)
		}
	}
	if len(s.Endpoints) == 0 {
		for _, a := range s.Addresses {
			addrs = append(addrs, a.Addr)
		}
	}
	f.engine.SetAddresses(addrs)
	if len(addrs) == 0 {
		return errors.New("no address")
	}
	return nil
}

// ReportError implements [resolver.ClientConn]: what was known before stays.
func (f *follower) ReportError(err error) { f.engine.Unresolved(err) }

// NewAddress is the form that resolvers used before UpdateState.
func (f *follower) NewAddress(addrs []resolver.Address) {
	_ = f.UpdateState(resolver.State{Addresses: addrs}) // the old form has no answer
}

// ParseServiceConfig takes none: the target's is known from the start.
func (f *follower) ParseServiceConfig(string) *serviceconfig.ParseResult {
	return &serviceconfig.ParseResult{Err: errors.New("the resolver's service config is not used")}
}
