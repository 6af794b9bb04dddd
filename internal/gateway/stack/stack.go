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
	// CPUs is the limit of each server, and RuntimeEnv is [cluster.Spec.RuntimeEnv]; 0: no limit.
	CPUs       float64
	RuntimeEnv []string
}

// Stack is a running stack.
type Stack struct {
	Plan
	Address string // host:port of the gateway
	Servers cluster.Deployment
	Metrics bool // the servers serve metrics at [MetricsPort]
	// Between is the gateway and the components of the route.
	Between Components
}

// Components run between the requests and the servers of a stack.
type Components interface {
	// Failures returns, for each component that exited unexpectedly, its name and the cause.
	Failures() []string
}

// processes are the components of a stack on this machine.
type processes struct {
	gateway        gateway.Process
	infrastructure route.Infrastructure
}

// Failures implements [Components].
func (p processes) Failures() []string {
	all := p.gateway.Failures()
	for _, c := range p.infrastructure.Components {
		all = append(all, c.Failures()...)
	}
	return all
}

// close ends the components, the gateway first.
func (p processes) close() error {
	if p.gateway.Component != nil {
		p.gateway.Close()
	}
	return p.infrastructure.Close()
}

// address is where the stack's gateway listens.
func (o Options) address(p Plan) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port+p.Offset))
}

// Check reports whether a stack can start: its port must be free and its program installed.
func (o Options) Check(p Plan) error {
	if p.Route.Binary.Name != "" {
		if _, err := p.Route.Binary.Find(); err != nil {
			return fmt.Errorf("route %s: %w", p.Route.Name, err)
		}
	}
	listener, err := net.Listen("tcp", o.address(p))
	if err != nil {
		return fmt.Errorf("route %s: cannot listen on %s: %w: stop the program that uses it, or choose other ports with --port", p.Route.Name, o.address(p), err)
	}
	return listener.Close()
}

// Start starts a stack on this machine and returns when its gateway serves.
func Start(ctx context.Context, o Options, p Plan) (_ *Stack, err error) {
	s := &Stack{Plan: p}
	var between processes
	defer func() {
		s.Between = between
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	spec := cluster.Spec{
		Name: p.Route.Name, Replicas: o.Replicas, Command: o.Server, Args: slices.Concat(o.ServerArgs, o.metricsArgs()),
		CPUs: o.CPUs, RuntimeEnv: o.RuntimeEnv,
	}
	s.Metrics = len(o.metricsArgs()) > 0
	s.Servers, err = o.Cluster.Deploy(ctx, spec)
	if err != nil {
		return nil, err
	}
	if between.infrastructure, err = p.Route.StartInfrastructure(ctx, s.Servers.Service(), p.Settings, route.Host{Self: o.Self, Callers: 1}); err != nil {
		return nil, err
	}
	between.gateway, err = gateway.Start(ctx, gateway.ProcessSpec{
		Self: o.Self, Listen: o.address(p), Route: p.Route, Service: between.infrastructure.ServiceFor(0), Settings: p.Settings, Model: o.Model,
		Command: o.Gateway,
	})
	s.Address = between.gateway.Address
	return s, err
}

// MetricsPort is where each server serves metrics, on its own address.
const MetricsPort = 9464

// metricsArgs are server flags for metrics; none where servers share one address, or are not in Go.
func (o Options) metricsArgs() []string {
	if runtime.GOOS != "linux" || o.Server != nil {
		return nil
	}
	return MetricsArgs()
}

// MetricsArgs are the flags of a server in Go that serves metrics.
func MetricsArgs() []string { return []string{"--metrics", ":" + strconv.Itoa(MetricsPort)} }

// Failures returns, for each server and component that exited unexpectedly, its name and the cause.
func (s *Stack) Failures() []string { return append(s.Servers.Failures(), s.Between.Failures()...) }

// Close stops a stack on this machine, the gateway first, and returns when all processes have ended. Other stacks end
// with their cluster.
func (s *Stack) Close() (err error) {
	if here, ok := s.Between.(processes); ok {
		err = here.close()
	}
	if s.Servers != nil {
		err = errors.Join(err, s.Servers.Remove())
	}
	return err
}
