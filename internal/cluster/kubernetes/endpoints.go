package kubernetes

import (
	"cmp"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"

	"rpclab/internal/cluster"
)

// publish updates the endpoints to the EndpointSlices of a service.
func publish(set *cluster.Endpoints, slices []*discoveryv1.EndpointSlice) {
	present := map[string]bool{}
	for _, e := range read(slices) {
		present[e.ID] = true
		set.Set(e)
	}
	now, _ := set.Current()
	for _, e := range now.Endpoints {
		if !present[e.ID] {
			set.Remove(e.ID)
		}
	}
}

// read merges the endpoints of all slices. The identity of an endpoint is its pod, else its
// address. Missing conditions have the API's defaults: serving is ready, terminating is
// false.
func read(slices []*discoveryv1.EndpointSlice) (all []cluster.Endpoint) {
	for _, slice := range slices {
		port := int32(servicePort)
		if len(slice.Ports) > 0 && slice.Ports[0].Port != nil {
			port = *slice.Ports[0].Port
		}
		for _, e := range slice.Endpoints {
			if len(e.Addresses) == 0 {
				continue
			}
			ip, err := netip.ParseAddr(e.Addresses[0])
			if err != nil {
				continue
			}
			serving := cmp.Or(e.Conditions.Serving, e.Conditions.Ready)
			endpoint := cluster.Endpoint{
				ID: ip.String(), Addr: netip.AddrPortFrom(ip, uint16(port)),
				Serving:     serving == nil || *serving,
				Terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating,
			}
			if e.TargetRef != nil {
				endpoint.ID = e.TargetRef.Name
			}
			if e.Zone != nil {
				endpoint.Zone = *e.Zone
			}
			all = append(all, endpoint)
		}
	}
	return all
}
