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
	for _, endpoint := range read(slices) {
		present[endpoint.ID] = true
		set.Set(endpoint)
	}
	now, _ := set.Current()
	for _, endpoint := range now.Endpoints {
		if !present[endpoint.ID] {
			set.Remove(endpoint.ID)
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
		for _, published := range slice.Endpoints {
			if len(published.Addresses) == 0 {
				continue
			}
			ip, err := netip.ParseAddr(published.Addresses[0])
			if err != nil {
				continue
			}
			serving := cmp.Or(published.Conditions.Serving, published.Conditions.Ready)
			endpoint := cluster.Endpoint{
				ID: ip.String(), Addr: netip.AddrPortFrom(ip, uint16(port)),
				Serving:     serving == nil || *serving,
				Terminating: published.Conditions.Terminating != nil && *published.Conditions.Terminating,
			}
			if published.TargetRef != nil {
				endpoint.ID = published.TargetRef.Name
			}
			if published.Zone != nil {
				endpoint.Zone = *published.Zone
			}
			all = append(all, endpoint)
		}
	}
	return all
}
