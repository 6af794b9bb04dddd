// Package chain stands up study 1 to be looked at: for every route a gateway, what stands
// on the route, and servers of its own.
package chain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// Port is that of the study's first gateway; the others follow it.
const Port = 30612

// Plan is a chain to start.
type Plan struct {
	Route string // and the mode of its metrics
	// Offset is from the first port of all: the study had ClusterIP on 30612, headless on
	// 30613 and a mesh, which sidecars make, on 30614.
	Offset   int
	Settings settings.Settings
}

// Plans are all chains, in the order of their ports.
func Plans() []Plan {
	var all []Plan
	for offset, name := range []string{"clusterip", "headless", "envoy", "endpointslice", "xds", "haproxy", "nginx", "forwarder", "kuberesolver"} {
		if _, err := route.Lookup(name); err != nil {
			continue
		}
		proxy := settings.Proxy{Workers: 1, Sidecar: name == "envoy"}
		all = append(all, Plan{Route: name, Offset: offset, Settings: settings.Settings{Proxy: proxy}})
	}
	return all
}

// Options are what all chains have in common.
type Options struct {
	Self     []string // this program
	Cluster  cluster.Cluster
	Port     int // of the first
	Replicas int
	Model    string // of the gateways
}

// Chain is a running one.
type Chain struct {
	Plan
	Gateway  gateway.Running
	Servers  cluster.Deployment
	standing route.Standing
}

// address is where the chain's gateway listens.
func (o Options) address(p Plan) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port+p.Offset))
}

// Check says whether a chain could stand: its port is free, its program is there.
func (o Options) Check(p Plan) error {
	way, err := route.Lookup(p.Route)
	if err != nil {
		return err
	}
	if way.Tool != "" {
		if _, err := tool.Find(way.Tool); err != nil {
			return fmt.Errorf("route %s: %w", p.Route, err)
		}
	}
	listener, err := net.Listen("tcp", o.address(p))
	if err != nil {
		return fmt.Errorf("route %s: cannot listen on %s: %w: end what uses it, or choose other ports with --port", p.Route, o.address(p), err)
	}
	return listener.Close()
}

// Start starts a chain and returns when its gateway answers.
func Start(ctx context.Context, o Options, p Plan) (_ *Chain, err error) {
	c := &Chain{Plan: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	way, err := route.Lookup(p.Route)
	if err != nil {
		return nil, err
	}
	c.Servers, err = o.Cluster.Deploy(ctx, cluster.Spec{Name: p.Route, Replicas: o.Replicas, Args: metricsArgs()})
	if err != nil {
		return nil, err
	}
	if c.standing, err = way.Up(ctx, c.Servers.Service(), p.Settings, route.Host{Self: o.Self, Callers: 1}); err != nil {
		return nil, err
	}
	c.Gateway, err = gateway.Start(ctx, gateway.Place{
		Self: o.Self, Listen: o.address(p), Route: p.Route, Service: c.standing.Service(0), Settings: p.Settings, Model: o.Model,
	})
	return c, err
}

// Losses says of every process of the chain that ended unasked which one and why.
func (c *Chain) Losses() []string {
	all := append(c.Servers.Losses(), c.Gateway.Losses()...)
	for _, p := range c.standing.Parts {
		all = append(all, p.Losses()...)
	}
	return all
}

// Close ends the chain, from the gateway on, and returns when it is gone.
func (c *Chain) Close() error {
	if c.Gateway.Part != nil {
		c.Gateway.Close()
	}
	err := c.standing.Close()
	if c.Servers != nil {
		err = errors.Join(err, c.Servers.Remove())
	}
	return err
}
