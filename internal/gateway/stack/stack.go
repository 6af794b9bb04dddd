// Package stack starts everything that one route needs, so that people can try it (`rpclab lab up`): a
// gateway, the route's proxies and control plane, and servers.
package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// Port is the published port of the first gateway. The other gateways listen on the ports after it.
const Port = 30612

// Plan describes a stack to start.
type Plan struct {
	Route route.Route // its name is also the label mode of its metrics
	// Offset is added to the first port. The published ports are 30612 for ClusterIP, 30613 for
	// headless and 30614 for the mesh.
	Offset   int
	Settings settings.Settings
}

// Plans returns all stacks, in the order of their ports.
func Plans() []Plan {
	var all []Plan
	for offset, r := range []route.Route{
		route.ClusterIP, route.Headless, route.Envoy, route.EndpointSlice, route.XDS, route.HAProxy, route.Nginx, route.Forwarder, route.KubeResolver,
	} {
		proxy := settings.Proxy{Workers: 1, Sidecar: r.Name == route.Envoy.Name}
		all = append(all, Plan{Route: r, Offset: offset, Settings: settings.Settings{Proxy: proxy}})
	}
	return all
}

// Options apply to all stacks.
type Options struct {
	Self     []string // command line of this program
	Cluster  cluster.Cluster
	Port     int // of the first gateway
	Replicas int
	Model    string // of the gateways
	// Server and Gateway are the commands of a program in another language; nil: this program.
	Server, Gateway []string
	ServerArgs      []string // of every server
}

// Stack is a running stack.
type Stack struct {
	Plan
	Gateway        gateway.Process
	Servers        cluster.Deployment
	metrics        bool // the servers serve metrics
	infrastructure route.Infrastructure
}

// address is where the stack's gateway listens.
func (o Options) address(p Plan) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port+p.Offset))
}

// Check reports whether a stack can start: its port must be free and its program installed.
func (o Options) Check(p Plan) error {
	if p.Route.Binary != "" {
		if _, err := tool.Find(p.Route.Binary); err != nil {
			return fmt.Errorf("route %s: %w", p.Route.Name, err)
		}
	}
	listener, err := net.Listen("tcp", o.address(p))
	if err != nil {
		return fmt.Errorf("route %s: cannot listen on %s: %w: stop the program that uses it, or choose other ports with --port", p.Route.Name, o.address(p), err)
	}
	return listener.Close()
}

// Start starts a stack and returns when its gateway serves.
func Start(ctx context.Context, o Options, p Plan) (_ *Stack, err error) {
	s := &Stack{Plan: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	spec := cluster.Spec{Name: p.Route.Name, Replicas: o.Replicas, Command: o.Server, Args: slices.Concat(o.ServerArgs, o.metricsArgs())}
	s.metrics = len(o.metricsArgs()) > 0
	s.Servers, err = o.Cluster.Deploy(ctx, spec)
	if err != nil {
		return nil, err
	}
	if s.infrastructure, err = p.Route.StartInfrastructure(ctx, s.Servers.Service(), p.Settings, route.Host{Self: o.Self, Callers: 1}); err != nil {
		return nil, err
	}
	s.Gateway, err = gateway.Start(ctx, gateway.ProcessSpec{
		Self: o.Self, Listen: o.address(p), Route: p.Route, Service: s.infrastructure.ServiceFor(0), Settings: p.Settings, Model: o.Model,
		Command: o.Gateway,
	})
	return s, err
}

// metricsPort is where each server serves metrics, on its own address.
const metricsPort = 9464

// metricsArgs are server flags for metrics; none where servers share one address, or are not in Go.
func (o Options) metricsArgs() []string {
	if runtime.GOOS != "linux" || o.Server != nil {
		return nil
	}
	return []string{"--metrics", ":" + strconv.Itoa(metricsPort)}
}

// Failures returns, for each process that ended unexpectedly, its name and the cause.
func (s *Stack) Failures() []string {
	all := append(s.Servers.Failures(), s.Gateway.Failures()...)
	for _, p := range s.infrastructure.Components {
		all = append(all, p.Failures()...)
	}
	return all
}

// Close stops the stack, the gateway first, and returns when all processes have ended.
func (s *Stack) Close() error {
	if s.Gateway.Component != nil {
		s.Gateway.Close()
	}
	err := s.infrastructure.Close()
	if s.Servers != nil {
		err = errors.Join(err, s.Servers.Remove())
	}
	return err
}
