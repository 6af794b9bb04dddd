package lab

import (
	"context"
	"fmt"
	"math/rand/v2"

	"rpclab/internal/cluster"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
)

// GatewaySpec is a gateway in the cluster outside of any trial, for people who try it (`rpclab lab up`).
type GatewaySpec struct {
	Route    route.Route
	Service  cluster.Service // what the gateway calls over the route
	Settings settings.Settings
	Model    string
	Command  []string // of a gateway in another language, in the image; nil: rpclab's own
	Port     int      // at which it listens
}

// Gateway is a running gateway of a [GatewaySpec]. It ends with its cluster.
type Gateway struct {
	Host    string // of its process
	running remoteInfrastructure
}

// StartGateway starts the components of a route and a gateway, all in one process of the cluster. It returns when
// the gateway serves.
func StartGateway(ctx context.Context, c cluster.Cluster, spec GatewaySpec) (*Gateway, error) {
	processes, err := c.StartCallers(ctx, cluster.CallerSpec{
		Name: "gateway-" + spec.Route.Name, Count: 1, Args: []string{infrastructureCommandName},
		Mesh: spec.Route.Mesh, Watches: spec.Route.Start != nil || spec.Route.WatchesAPI,
	})
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", spec.Route.Name, err)
	}
	process := processes[0].Process
	running, err := startRemoteInfrastructure(ctx, infrastructureSpec{
		Route: spec.Route.Name, Service: spec.Service, Settings: spec.Settings, Callers: 1,
		Gateway: &gatewaySpec{Model: spec.Model, Command: spec.Command, Port: spec.Port, Seed: rand.Uint64()},
	}, true, []cluster.Process{process})
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", spec.Route.Name, err)
	}
	return &Gateway{process.Host(), running}, nil
}

// Failures returns every component that exited unexpectedly, with the reason.
func (g *Gateway) Failures() []string { return g.running.failures() }
