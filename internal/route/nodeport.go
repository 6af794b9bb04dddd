package route

import (
	"context"
	"errors"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// NodePort enters the cluster by a port of every node.
var NodePort = Route{
	Name:     "nodeport",
	Doc:      "every new connection goes to a port of one node, which forwards it to a random ready backend, perhaps on another node",
	PickedBy: PickedByKernel,
	Update:   connectionsStay,
	OnlyOn:   kubernetes, NodePort: true,
	CarriesTCP: true,
	Open:       openNodePort,
}

// openNodePort dials the service's port on one node, as a client outside of the cluster does.
func openNodePort(_ context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	if s.NodePort == "" {
		return caller.Target{}, errors.New("route nodeport: the cluster has no nodes: use the route clusterip, or run on Kubernetes")
	}
	return openAddress(o, s.NodePort)
}
