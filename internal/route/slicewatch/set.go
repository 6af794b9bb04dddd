package slicewatch

import (
	"math/rand/v2"
	"net/netip"
)

// Endpoint is one endpoint of the service as the API shows it.
type Endpoint struct {
	ID                          string // its pod, or its address
	Addr                        netip.AddrPort
	Ready, Serving, Terminating bool
	Zone                        string // empty: the API does not say
}

// rank orders conditions: ready, then serving while it terminates, then the rest.
func (e Endpoint) rank() int {
	switch {
	case e.Ready:
		return 2
	case e.Serving && e.Terminating:
		return 1
	}
	return 0
}

// Set is all endpoints of the service, in all slices, sorted by ID.
type Set []Endpoint

// Usable are the endpoints to send calls to: those that are ready or, when none is,
// those that terminate but still serve. The last backends of a service that is
// rolled or drained thus keep answering until their successors are ready, as
// kube-proxy does it (KEP-1669, proxy terminating endpoints).
func (s Set) Usable() Set {
	for _, rank := range []int{2, 1} {
		var of Set
		for _, e := range s {
			if e.rank() == rank {
				of = append(of, e)
			}
		}
		if len(of) > 0 {
			return of
		}
	}
	return nil
}

// Addrs are their addresses (host:port), in the same order.
func (s Set) Addrs() (addrs []string) {
	for _, e := range s {
		addrs = append(addrs, e.Addr.String())
	}
	return addrs
}

// Random is any of the endpoints, each as likely as the others; false: there is none.
func (s Set) Random() (Endpoint, bool) {
	if len(s) == 0 {
		return Endpoint{}, false
	}
	return s[rand.N(len(s))], true
}
