package kubernetes

import (
	"cmp"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"

	"rpclab/internal/cluster"
)

// publish makes the set of endpoints what the EndpointSlices of a service say.
func publish(set *cluster.Endpoints, slices []*discoveryv1.EndpointSlice) {
	there := map[string]bool{}
	for _, e := range read(slices) {
		there[e.ID] = true
		set.Set(e)
	}
	now, _ := set.Now()
	for _, e := range now.Endpoints {
		if !there[e.ID] {
			set.Remove(e.ID)
		}
	}
}

// read gives the endpoints of all slices together. One without a pod has its address as
// its identity. Of conditions that are not given, the API says what they are: serving is
// as ready, terminating is not.
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
			one := cluster.Endpoint{
				ID: ip.String(), Addr: netip.AddrPortFrom(ip, uint16(port)),
				Serving:     serving == nil || *serving,
				Terminating: e.Conditions.Terminating != nil && *e.Conditions.Terminating,
			}
			if e.TargetRef != nil {
				one.ID = e.TargetRef.Name
			}
			if e.Zone != nil {
				one.Zone = *e.Zone
			}
			all = append(all, one)
		}
	}
	return all
}
