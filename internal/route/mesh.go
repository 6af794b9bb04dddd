package route

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// Linkerd is the route through Linkerd's proxies.
var Linkerd = Route{
	Name:     "linkerd",
	Doc:      "every call goes through Linkerd's proxies in the pods of caller and backend, which choose the backend that is likely to respond first",
	PickedBy: PickedByProxy,
	Update:   meshUpdatesProxy,
	Untested: true, // its programs are in no package registry
	OnlyOn:   kubernetes, Mesh: "linkerd",
	Open: openMesh,
}

// Istio is the route through Istio's proxies.
var Istio = Route{
	Name:     "istio",
	Doc:      "every call goes through Istio's Envoys in the pods of caller and backend, which choose the less busy of two backends",
	PickedBy: PickedByProxy,
	Update:   meshUpdatesProxy,
	OnlyOn:   kubernetes, Mesh: "istio",
	Open: openMesh,
}

const meshUpdatesProxy = "the client is not updated; the mesh updates its sidecar"

// openMesh dials the virtual IP, as without a mesh. The injected proxy of the caller
// intercepts the connection and picks a backend for every call.
func openMesh(_ context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	if s.VIP == "" {
		return caller.Target{}, errors.New("a mesh intercepts connections to a virtual IP, and this cluster has none: run on Kubernetes")
	}
	return openAddress(o, net.JoinHostPort(completeName(s.VIP), strconv.Itoa(cmp.Or(s.VIPPort, s.Port))))
}
