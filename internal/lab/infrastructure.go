package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/route/component"
)

// testbed is the backends of a trial and everything between them and the callers.
type testbed struct {
	servers        cluster.Deployment
	infrastructure infrastructure
	versions       map[string]cluster.Program // of the service, for events that roll out another
	gateway        string                     // host:port of the gateway that makes the calls; empty: the callers make them
}

// infrastructure is the components of a route (proxies, control plane) and the gateway, as children
// of this process or in the cluster.
type infrastructure interface {
	// service returns how caller n (from 0) reaches the service.
	service(n int) cluster.Service
	// files returns the generated configuration files, by name.
	files() map[string]string
	// kill ends the components of a role. Components that are restarted are ready when it returns.
	kill(ctx context.Context, role string) error
	resetUsage() error
	// used returns the total usage of the components of a role since resetUsage. It fails if the
	// usage of any component is not known.
	used(role string) (cluster.Usage, error)
	// failures returns every component that exited unexpectedly, with the reason.
	failures() []string
	// processes returns the components that are processes of this machine.
	processes() []measure.Watched
	// close ends all components and returns when they have exited.
	close() error
}

// infrastructureBuilder starts the infrastructure of trials.
type infrastructureBuilder struct {
	cluster  cluster.Cluster
	remote   bool     // callers cannot reach this machine
	self     []string // command line of this program
	programs programs
	seed     uint64            // of the run
	tools    map[string]string // start adds the versions of programs in the cluster
}

// start starts the infrastructure of a trial as children of this process. If callers cannot reach
// this machine, it starts it in the callers' sidecars or in a process of its own in the cluster.
func (b infrastructureBuilder) start(ctx context.Context, t trial, servers cluster.Deployment, sidecars []cluster.Process) (bed testbed, err error) {
	bed.servers = servers
	var started remoteInfrastructure
	switch {
	case len(sidecars) > 0:
		started, err = startRemoteInfrastructure(ctx, b.spec(t, servers.Service(), 1), false, sidecars)
	case b.remote && (t.route.Start != nil || t.Config.Gateway != nil):
		started, err = b.startInCluster(ctx, t, servers.Service())
	default:
		local, err := startLocalInfrastructure(ctx, b.self, t.route, b.spec(t, servers.Service(), t.Config.CallerCount()))
		bed.infrastructure, bed.gateway = local, local.gateway
		return bed, err
	}
	if err != nil {
		return bed, err
	}
	bed.infrastructure, bed.gateway = started, started[0].Gateway
	maps.Copy(b.tools, started[0].Versions)
	return bed, nil
}

// startInCluster starts the infrastructure in a process of its own in the cluster.
func (b infrastructureBuilder) startInCluster(ctx context.Context, t trial, s cluster.Service) (remoteInfrastructure, error) {
	host := cluster.CallerSpec{Name: t.processName(infrastructureCommandName), Count: 1, Args: []string{infrastructureCommandName}, Watches: t.route.Start != nil}
	if t.Config.Gateway != nil {
		host.Mesh, host.Watches = t.route.Mesh, host.Watches || t.route.WatchesAPI
	}
	processes, err := b.cluster.StartCallers(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", t.route.Name, err)
	}
	return startRemoteInfrastructure(ctx, b.spec(t, s, 1), true, []cluster.Process{processes[0]})
}

// sidecarArgs returns the arguments of a sidecar of each caller that runs the caller's own
// proxy; nil: no such program.
func (b infrastructureBuilder) sidecarArgs(t trial) []string {
	if b.remote && t.route.Start != nil && t.Config.Gateway == nil && t.settings.Proxy.Sidecar {
		return []string{infrastructureCommandName}
	}
	return nil
}

// spec returns the infrastructure of a trial for a number of callers.
func (b infrastructureBuilder) spec(t trial, s cluster.Service, callers int) infrastructureSpec {
	spec := infrastructureSpec{Route: t.route.Name, Service: s, Settings: t.settings, Callers: callers, TLS: t.proxyTLS}
	if g := t.Config.Gateway; g != nil {
		spec.Callers = 1 // the gateway
		spec.Gateway = &gatewaySpec{
			Model: g.Model, Channel: g.Channel, Command: b.programs.commands[g.Language],
			Seed: experiment.DeriveSeed(b.seed, "numbers of round "+strconv.Itoa(t.Round)), // the same for all arms
		}
	}
	return spec
}

// kill ends the components of a role, even if the load ends first.
func (b testbed) kill(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	return b.infrastructure.kill(ctx, role)
}

// usage returns the usage of the components of each role since resetUsage.
func (b testbed) usage() (proxies, gateways, controlPlane cluster.Usage, err error) {
	var errs [3]error
	proxies, errs[0] = b.infrastructure.used(component.Proxy)
	gateways, errs[1] = b.infrastructure.used(component.Gateway)
	controlPlane, errs[2] = b.infrastructure.used(component.ControlPlane)
	return proxies, gateways, controlPlane, errors.Join(errs[:]...)
}

// failures returns every backend and component that exited unexpectedly, with the reason.
func (b testbed) failures() []string {
	return append(b.servers.Failures(), b.infrastructure.failures()...)
}

// processes returns the backends and components that are processes of this machine.
func (b testbed) processes() []measure.Watched {
	all := b.infrastructure.processes()
	if local, ok := b.servers.(cluster.LocalProcesses); ok {
		all = append(all, local.Processes()...)
	}
	return all
}
