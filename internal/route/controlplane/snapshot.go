// Package controlplane is an xDS control plane for one service. Over one aggregated stream
// (ADS) it serves a listener, a route configuration, a cluster and its endpoints (LDS, RDS, CDS,
// EDS). gRPC clients without a proxy and Envoy read the same resources.
package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
)

// CallerZone is the zone of the callers. Clients call the backends of this zone as long as one of
// them answers, and the backends of the other zones only when none does.
const CallerZone = "zone-0"

// Snapshot is the resources of a service: a listener, a route configuration, a cluster and its
// endpoints, all under the service's name. Each type's version is a hash of its contents, so a
// change of the endpoints sends only endpoints, and a restarted control plane sends the same
// versions as before.
func Snapshot(service string, usable endpointslice.Set, s settings.Settings) (*cache.Snapshot, error) {
	routes, err := routes(service, s)
	if err != nil {
		return nil, err
	}
	cluster, err := clusterOf(service, s)
	if err != nil {
		return nil, err
	}
	listener, err := listener(service)
	if err != nil {
		return nil, err
	}
	var snapshot cache.Snapshot
	for kind, resource := range map[types.ResponseType]types.Resource{
		types.Listener: listener, types.Route: routes, types.Cluster: cluster,
		types.Endpoint: assignment(service, usable),
	} {
		version, err := versionOf(resource)
		if err != nil {
			return nil, err
		}
		snapshot.Resources[kind] = cache.NewResources(version, []types.Resource{resource})
	}
	return &snapshot, nil
}

// assignment is the EDS resource: the first priority for the callers' zone, if it has a backend, the
// next for all others, also without a zone. Priorities must have no gaps, or clients reject them.
func assignment(service string, usable endpointslice.Set) *endpoint.ClusterLoadAssignment {
	assigned := &endpoint.ClusterLoadAssignment{ClusterName: service}
	zones := map[string]*endpoint.LocalityLbEndpoints{}
	for _, own := range []bool{true, false} {
		priority := uint32(0)
		if len(assigned.Endpoints) > 0 {
			priority = 1
		}
		for _, e := range usable {
			if (e.Zone == CallerZone) != own {
				continue
			}
			zone, ok := zones[e.Zone]
			if !ok {
				zone = &endpoint.LocalityLbEndpoints{
					Locality: &core.Locality{Zone: e.Zone}, Priority: priority,
					LoadBalancingWeight: wrapperspb.UInt32(0),
				}
				zones[e.Zone] = zone
				assigned.Endpoints = append(assigned.Endpoints, zone)
			}
			zone.LoadBalancingWeight.Value++ // the number of backends; clients ignore a zone of weight 0
			zone.LbEndpoints = append(zone.LbEndpoints, backend(e))
		}
	}
	return assigned
}

func backend(e endpointslice.Endpoint) *endpoint.LbEndpoint {
	return &endpoint.LbEndpoint{
		HealthStatus: core.HealthStatus_HEALTHY,
		HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{
			Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
				Address:       e.Addr.Addr().String(),
				PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(e.Addr.Port())},
			}}},
		}},
	}
}

// versionOf is a hash of the contents of a resource.
func versionOf(r proto.Message) (string, error) {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("control plane: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}
