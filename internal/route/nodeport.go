package route

import (
	"context"
	"errors"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// openNodePort goes to one node's port of the service, as who is outside of the cluster does.
func openNodePort(_ context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	if s.NodePort == "" {
		return caller.Target{}, errors.New("route nodeport: the cluster has no nodes: take the route clusterip, or run on Kubernetes")
	}
	return openAddress(o, s.NodePort)
}
