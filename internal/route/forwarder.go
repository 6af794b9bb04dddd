package route

import (
	"context"
	"slices"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
)

// Forwarder is the route through rpclab's own TCP forwarder.
var Forwarder = Route{
	Name:       "forwarder",
	Doc:        "every new connection goes through a forwarder of our own, which connects it to a random ready backend and copies bytes in both directions",
	PickedBy:   PickedByKernel,
	Update:     connectionsStay,
	OpenFiles:  filesOfForwarder,
	CarriesTCP: true,
	Start:      startForwarder,
	Open:       openForwarder,
}

// startForwarder starts a process that forwards connections: `rpclab forward`.
func startForwarder(ctx context.Context, s cluster.Service, _ settings.Settings, h Host) (Infrastructure, error) {
	at, err := h.AllocateAddress()
	if err != nil {
		return Infrastructure{}, err
	}
	args := []string{"forward", "--listen", at, "--api", s.API, "--namespace", s.Namespace, "--service", s.Name}
	if h.IP != "" { // in a pod, which callers in other pods reach
		args = append(args, "--public")
	}
	p, err := component.Start(ctx, component.Spec{
		Name: "forwarder", Role: component.Proxy, Process: process.Spec{Args: slices.Concat(h.Self, args)},
		Restart: true,
	})
	if err != nil {
		return Infrastructure{}, err
	}
	s.Proxy = at
	return Infrastructure{Services: []cluster.Service{s}, Components: []*component.Component{p}}, nil
}

// openForwarder dials the forwarder.
func openForwarder(_ context.Context, s cluster.Service, o settings.Settings, _ UpdateFunc) (caller.Target, error) {
	return openAddress(o, s.Proxy)
}
