package endpointslice

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// portName is the port that calls go to. In a slice without it they go to the first port.
const portName = "grpc"

// Endpoint is one endpoint of the service as the API shows it.
type Endpoint struct {
	ID                          string // its pod, or its address
	Addr                        netip.AddrPort
	Ready, Serving, Terminating bool
	Zone                        string // empty: the API does not say
}

// rank orders conditions: ready, then serving while terminating, then the rest.
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

// setOf merges all slices. While the controller moves an endpoint, two slices list it: it
// counts once, in its better condition.
func setOf(all map[string]*discovery.EndpointSlice) Set {
	byAddr := map[netip.AddrPort]Endpoint{}
	for _, slice := range all {
		for _, e := range endpoints(slice) {
			if old, ok := byAddr[e.Addr]; !ok || e.rank() > old.rank() {
				byAddr[e.Addr] = e
			}
		}
	}
	set := make(Set, 0, len(byAddr))
	for _, e := range byAddr {
		set = append(set, e)
	}
	slices.SortFunc(set, func(a, b Endpoint) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), a.Addr.Compare(b.Addr))
	})
	return set
}

// endpoints reads a slice. The addresses of one endpoint are interchangeable, and only the
// first is used, as in kube-proxy. A slice of host names has no endpoint with an address.
func endpoints(slice *discovery.EndpointSlice) (all []Endpoint) {
	port, ok := portOf(slice)
	if !ok {
		return nil
	}
	for _, e := range slice.Endpoints {
		if len(e.Addresses) == 0 {
			continue
		}
		ip, err := netip.ParseAddr(e.Addresses[0])
		if err != nil {
			continue
		}
		// The API documents what a missing condition means (discovery/v1, EndpointConditions).
		ready := ptr.Deref(e.Conditions.Ready, true)
		out := Endpoint{
			ID: ip.String(), Addr: netip.AddrPortFrom(ip, port), Zone: ptr.Deref(e.Zone, ""),
			Ready: ready, Serving: ptr.Deref(e.Conditions.Serving, ready), Terminating: ptr.Deref(e.Conditions.Terminating, false),
		}
		if e.TargetRef != nil && e.TargetRef.Name != "" {
			out.ID = e.TargetRef.Name
		}
		all = append(all, out)
	}
	return all
}

func portOf(slice *discovery.EndpointSlice) (port uint16, ok bool) {
	for _, p := range slice.Ports {
		named := ptr.Deref(p.Name, "") == portName
		if p.Port == nil || ok && !named {
			continue
		}
		port, ok = uint16(*p.Port), true
		if named {
			break
		}
	}
	return port, ok
}

// Usable are the endpoints to send calls to: those that are ready or, when none is ready,
// those that terminate but still serve. The last backends of a service that is rolled out
// or drained thus keep answering until their successors are ready, as with kube-proxy
// (KEP-1669, proxy terminating endpoints).
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

// Random is a uniformly random endpoint. ok is false when there is none.
func (s Set) Random() (e Endpoint, ok bool) {
	if len(s) == 0 {
		return Endpoint{}, false
	}
	return s[rand.N(len(s))], true
}
