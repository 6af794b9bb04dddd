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
	"rpclab/internal/route"
	"rpclab/internal/route/part"
)

// field is all that a trial's calls meet: backends, and what stands before them.
type field struct {
	servers  cluster.Deployment
	standing standing
	gateway  string // host:port, where one makes the calls; empty: the caller does
}

// standing is what stands before the backends, here or in the cluster.
type standing interface {
	// service is how caller n (from 0) reaches the service.
	service(n int) cluster.Service
	// files are the configuration files that were made, by name.
	files() map[string]string
	// kill ends the parts of a role. What is to run again does when kill returns.
	kill(ctx context.Context, role string) error
	resetUsage() error
	// used is what the parts of a role used since resetUsage, all together. It fails where
	// one cannot be asked any more: the others are not the whole.
	used(role string) (cluster.Usage, error)
	// losses says of every part that ended unasked which one and why.
	losses() []string
	// close ends everything and returns when it is gone.
	close() error
}

// standOrder says what stands before the backends of a trial, for so many callers.
func (l *lab) standOrder(t experiment.Trial, s cluster.Service, callers int) standOrder {
	o := standOrder{Route: t.Config.Route, Service: s, Settings: settingsOf(t.Config), Callers: callers}
	if g := t.Config.Gateway; g != nil {
		o.Callers = 1 // which it is
		o.Gateway = &standGateway{
			Model: g.Model, Channel: g.Channel, Command: l.commands[g.Language],
			Seed: seed(l.plan.Seed, "numbers of round "+strconv.Itoa(t.Round)), // the same for all arms
		}
	}
	return o
}

// stand starts what stands before the backends of a trial, its route and its gateway:
// below this process or, where the cluster is elsewhere, in the cluster. beside are the
// sidecars of the callers, where these have any.
func (l *lab) stand(ctx context.Context, t experiment.Trial, servers cluster.Deployment, beside []cluster.Process) (f field, err error) {
	f.servers = servers
	way, err := route.Lookup(t.Config.Route)
	if err != nil {
		return f, err
	}
	var up there
	switch {
	case len(beside) > 0:
		up, err = standThere(ctx, l.standOrder(t, servers.Service(), 1), false, beside)
	case l.Remote && stands(way, t.Config):
		up, err = l.standApart(ctx, way, l.standOrder(t, servers.Service(), 1))
	default:
		up, err := l.standOrder(t, servers.Service(), t.Config.CallerCount()).up(ctx, l.Self)
		f.standing, f.gateway = up, up.gateway
		return f, err
	}
	if err != nil {
		return f, err
	}
	f.standing, f.gateway = up, up[0].Gateway
	maps.Copy(l.doc.Machine.Tools, up[0].Versions)
	return f, nil
}

// standApart has a process of its own in the cluster stand up what is ordered.
func (l *lab) standApart(ctx context.Context, way route.Route, o standOrder) (there, error) {
	shape := cluster.Crew{Name: standName, Count: 1, Args: []string{standName}, Watches: way.Stand != nil}
	if o.Gateway != nil {
		shape.Mesh, shape.Watches = way.Mesh, shape.Watches || way.Watches
	}
	crew, err := l.Cluster.Run(ctx, shape)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", way.Name, err)
	}
	return standThere(ctx, o, true, []cluster.Process{crew[0]})
}

// stands says whether anything stands before the backends.
func stands(way route.Route, c experiment.Config) bool { return way.Stand != nil || c.Gateway != nil }

// sidecar is the arguments of a second program beside each caller; nil: none is needed.
func (l *lab) sidecar(way route.Route, c experiment.Config) []string {
	if l.Remote && way.Stand != nil && c.Gateway == nil && settingsOf(c).Proxy.Sidecar {
		return []string{standName}
	}
	return nil
}

// kill is done although the load ends meanwhile: it was begun all the same.
func (f field) kill(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return f.standing.kill(ctx, role)
}

// spent is what stands before the backends used since resetUsage.
func (f field) spent() (proxies, gateways, control cluster.Usage, err error) {
	var errs [3]error
	proxies, errs[0] = f.standing.used(part.Proxy)
	gateways, errs[1] = f.standing.used(part.Gateway)
	control, errs[2] = f.standing.used(part.Control)
	return proxies, gateways, control, errors.Join(errs[:]...)
}

// losses says of every backend and every part that ended unasked which one and why.
func (f field) losses() []string { return append(f.servers.Losses(), f.standing.losses()...) }
