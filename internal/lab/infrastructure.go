package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/route/component"
)

// testbed is everything between a trial's callers and its backends, and the backends.
type testbed struct {
	servers        cluster.Deployment
	infrastructure infrastructure
	gateway        string // host:port, where one makes the calls; empty: the caller does
}

// infrastructure is the components of a route (proxies, control plane) and the gateway,
// below this process or in the cluster.
type infrastructure interface {
	// service is how caller n (from 0) reaches the service.
	service(n int) cluster.Service
	// files are the configuration files that were generated, by name.
	files() map[string]string
	// kill ends the components of a role. Those that are restarted are ready when it returns.
	kill(ctx context.Context, role string) error
	resetUsage() error
	// used is what the components of a role used since resetUsage, all together. It fails
	// where one cannot be asked any more, since the others are not the whole.
	used(role string) (cluster.Usage, error)
	// failures names every component that exited unexpectedly, with the reason.
	failures() []string
	// close ends everything and returns when it has ended.
	close() error
}

// infrastructureBuilder starts the infrastructure of trials.
type infrastructureBuilder struct {
	cluster  cluster.Cluster
	remote   bool     // callers cannot reach this machine
	self     []string // command line of this program
	programs programs
	seed     uint64            // of the run
	tools    map[string]string // to which it adds the versions of programs in the cluster
}

// start starts the infrastructure of a trial: below this process or, where callers cannot
// reach this machine, in the sidecars of the callers or a process of its own in the cluster.
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
	host := cluster.CallerSpec{Name: infrastructureCommandName, Count: 1, Args: []string{infrastructureCommandName}, Watches: t.route.Start != nil}
	if t.Config.Gateway != nil {
		host.Mesh, host.Watches = t.route.Mesh, host.Watches || t.route.WatchesAPI
	}
	processes, err := b.cluster.StartCallers(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", t.route.Name, err)
	}
	return startRemoteInfrastructure(ctx, b.spec(t, s, 1), true, []cluster.Process{processes[0]})
}

// sidecarArgs are the arguments of a second program beside each caller, which starts the
// caller's own proxy; nil: it needs none.
func (b infrastructureBuilder) sidecarArgs(t trial) []string {
	if b.remote && t.route.Start != nil && t.Config.Gateway == nil && t.settings.Proxy.Sidecar {
		return []string{infrastructureCommandName}
	}
	return nil
}

// spec is the infrastructure of a trial for so many callers.
func (b infrastructureBuilder) spec(t trial, s cluster.Service, callers int) infrastructureSpec {
	spec := infrastructureSpec{Route: t.route.Name, Service: s, Settings: t.settings, Callers: callers}
	if g := t.Config.Gateway; g != nil {
		spec.Callers = 1 // the gateway
		spec.Gateway = &gatewaySpec{
			Model: g.Model, Channel: g.Channel, Command: b.programs.commands[g.Language],
			Seed: experiment.Seed(b.seed, "numbers of round "+strconv.Itoa(t.Round)), // the same for all arms
		}
	}
	return spec
}

// kill is completed even when the load ends meanwhile.
func (b testbed) kill(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return b.infrastructure.kill(ctx, role)
}

// usage is what the components of each role used since resetUsage.
func (b testbed) usage() (proxies, gateways, controlPlane cluster.Usage, err error) {
	var errs [3]error
	proxies, errs[0] = b.infrastructure.used(component.Proxy)
	gateways, errs[1] = b.infrastructure.used(component.Gateway)
	controlPlane, errs[2] = b.infrastructure.used(component.ControlPlane)
	return proxies, gateways, controlPlane, errors.Join(errs[:]...)
}

// failures names every backend and every component that exited unexpectedly, with the reason.
func (b testbed) failures() []string {
	return append(b.servers.Failures(), b.infrastructure.failures()...)
}
