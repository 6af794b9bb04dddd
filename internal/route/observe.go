package route

import (
	"time"

	"google.golang.org/grpc/resolver"
)

// observe returns a resolver that passes every set of addresses to updated, and then to its channel.
func observe(b resolver.Builder, updated UpdateFunc) resolver.Builder { return observed{b, updated} }

type observed struct {
	resolver.Builder
	updated UpdateFunc
}

// Build implements [resolver.Builder].
func (o observed) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	return o.Builder.Build(target, observedConn{cc, o.updated}, opts)
}

type observedConn struct {
	resolver.ClientConn
	updated UpdateFunc
}

// UpdateState calls updated first: from here on the process knows the addresses.
func (o observedConn) UpdateState(s resolver.State) error {
	o.updated(time.Now(), addrs(s))
	return o.ClientConn.UpdateState(s)
}

// addrs reads the endpoints of a state, or the addresses where it has no endpoints.
func addrs(s resolver.State) []string {
	var all []string
	for _, e := range s.Endpoints {
		for _, a := range e.Addresses {
			all = append(all, a.Addr)
		}
	}
	if len(s.Endpoints) == 0 {
		for _, a := range s.Addresses {
			all = append(all, a.Addr)
		}
	}
	return all
}
