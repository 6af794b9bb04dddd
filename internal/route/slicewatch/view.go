package slicewatch

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// portName is the port that calls go to; a slice without it is used by its first.
const portName = "grpc"

// view is all slices of the service as of one version.
type view struct {
	version string // empty: list first
	slices  map[string]discovery.EndpointSlice
}

func (v *view) replace(list discovery.EndpointSliceList) {
	v.version, v.slices = list.ResourceVersion, map[string]discovery.EndpointSlice{}
	for _, s := range list.Items {
		v.slices[s.Name] = s
	}
}

// apply takes one event in. It fails when the event is the server's refusal or
// cannot be read.
func (v *view) apply(e event) error {
	if e.Type == watch.Error {
		var s metav1.Status
		if err := json.Unmarshal(e.Object, &s); err != nil {
			return fmt.Errorf("event %s: %w", e.Type, err)
		}
		return refusal(s)
	}
	var s discovery.EndpointSlice
	if err := json.Unmarshal(e.Object, &s); err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	switch e.Type {
	case watch.Added, watch.Modified:
		v.slices[s.Name] = s
	case watch.Deleted:
		delete(v.slices, s.Name)
	case watch.Bookmark:
	default:
		return fmt.Errorf("event of unknown type %q", e.Type)
	}
	v.version = s.ResourceVersion
	return nil
}

// set is the union of all slices. An endpoint may stand in two of them while the
// controller moves it; it counts once, in its better condition.
func (v *view) set() Set {
	byAddr := map[netip.AddrPort]Endpoint{}
	for _, s := range v.slices {
		for _, e := range endpoints(s) {
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
		if c := strings.Compare(a.ID, b.ID); c != 0 {
			return c
		}
		return a.Addr.Compare(b.Addr)
	})
	return set
}

// endpoints reads a slice. The addresses of one endpoint are interchangeable and
// only the first is used, as kube-proxy does; a slice of host names has none.
func endpoints(s discovery.EndpointSlice) []Endpoint {
	port, ok := portOf(s)
	if !ok {
		return nil
	}
	var all []Endpoint
	for _, e := range s.Endpoints {
		if len(e.Addresses) == 0 {
			continue
		}
		ip, err := netip.ParseAddr(e.Addresses[0])
		if err != nil {
			continue
		}
		// A condition that is not given: ready unless said otherwise, serving as
		// ready, terminating not (discovery/v1, EndpointConditions).
		out := Endpoint{ID: ip.String(), Addr: netip.AddrPortFrom(ip, port)}
		out.Ready = or(e.Conditions.Ready, true)
		out.Serving = or(e.Conditions.Serving, out.Ready)
		out.Terminating = or(e.Conditions.Terminating, false)
		if e.TargetRef != nil && e.TargetRef.Name != "" {
			out.ID = e.TargetRef.Name
		}
		if e.Zone != nil {
			out.Zone = *e.Zone
		}
		all = append(all, out)
	}
	return all
}

func portOf(s discovery.EndpointSlice) (port uint16, ok bool) {
	for _, p := range s.Ports {
		if p.Port == nil {
			continue
		}
		if named := p.Name != nil && *p.Name == portName; named || !ok {
			port, ok = uint16(*p.Port), true
			if named {
				break
			}
		}
	}
	return port, ok
}

func or(given *bool, otherwise bool) bool {
	if given != nil {
		return *given
	}
	return otherwise
}
