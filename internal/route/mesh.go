package route

import (
	"context"
	"errors"
	"net"
	"strconv"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// openMesh goes to the virtual IP, as without a mesh: the proxy beside the caller takes the
// connection over and chooses a backend for every call. The cluster has put it there.
func openMesh(_ context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	if s.VIP == "" {
		return caller.Target{}, errors.New("a mesh takes over what goes to a virtual IP, which this cluster does not have: run on Kubernetes")
	}
	return openAddress(o, net.JoinHostPort(whole(s.VIP), strconv.Itoa(s.Port)))
}
