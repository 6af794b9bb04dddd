package route

import (
	"time"

	"google.golang.org/grpc/resolver"
)

// observe is a resolver that tells, besides its channel, of every set of addresses.
func observe(b resolver.Builder, told Told) resolver.Builder { return observed{b, told} }

type observed struct {
	resolver.Builder
	told Told
}

// Build implements [resolver.Builder].
func (o observed) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	return o.Builder.Build(target, observedConn{cc, o.told}, opts)
}

type observedConn struct {
	resolver.ClientConn
	told Told
}

// UpdateState tells first: from here on the process knows.
func (o observedConn) UpdateState(s resolver.State) error {
	o.told(time.Now(), addrs(s))
	return o.ClientConn.UpdateState(s)
}

// addrs reads either form of a state: a resolver fills one or both.
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
