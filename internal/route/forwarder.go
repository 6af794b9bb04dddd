package route

import (
	"context"
	"slices"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// standForwarder starts a process that forwards connections: `rpclab forward`.
func standForwarder(ctx context.Context, s cluster.Service, _ settings.Settings, h Host) (Standing, error) {
	at, err := h.Listen()
	if err != nil {
		return Standing{}, err
	}
	args := []string{"forward", "--listen", at, "--api", s.API, "--namespace", s.Namespace, "--service", s.Name}
	p, err := part.Start(ctx, part.Spec{
		Name: "forwarder", Role: part.Proxy, Run: process.Spec{Args: slices.Concat(h.Self, args)},
		Again: true,
	})
	if err != nil {
		return Standing{}, err
	}
	s.Via = at
	return Standing{Services: []cluster.Service{s}, Parts: []*part.Part{p}}, nil
}

// openForwarder needs nothing of the caller: the address is an ordinary one.
func openForwarder(_ context.Context, s cluster.Service, o settings.Settings, _ Told) (caller.Target, error) {
	return openAddress(o, s.Via)
}
