package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/route/part"
)

// field is all that a trial's calls meet: backends, and what stands before them.
type field struct {
	servers  cluster.Deployment
	standing route.Standing
	gateway  string // host:port, where one makes the calls; empty: the caller does
}

// stand starts what stands before the backends of a trial: its route, and its gateway.
func (l *lab) stand(ctx context.Context, t experiment.Trial, servers cluster.Deployment) (field, error) {
	f := field{servers: servers}
	way, err := route.Lookup(t.Config.Route)
	if err != nil {
		return f, err
	}
	f.standing, err = way.Up(ctx, servers.Service(), settingsOf(t.Config), l.Self, 1)
	if err != nil || t.Config.Gateway == nil {
		return f, err
	}
	g, err := gateway.Start(ctx, gateway.Place{
		Self: l.Self, Route: way.Name, Service: f.standing.Service(0), Settings: settingsOf(t.Config), Model: t.Config.Gateway.Model,
		Seed: seed(l.plan.Seed, "numbers of round "+strconv.Itoa(t.Round)), // the same for all arms
	})
	if err != nil {
		return f, errors.Join(err, f.standing.Close())
	}
	f.gateway = g.Address
	f.standing.Parts = slices.Concat([]*part.Part{g.Part}, f.standing.Parts) // it ends before what it calls
	return f, nil
}

// kill ends the parts of a role. What is to run again comes back also when the load ends
// meanwhile: it was killed all the same.
func (f field) kill(ctx context.Context, role string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var errs []error
	found := false
	for _, p := range f.standing.Parts {
		if p.Role == role {
			found = true
			errs = append(errs, p.Kill(ctx))
		}
	}
	if !found {
		return fmt.Errorf("this route has no %s", role)
	}
	return errors.Join(errs...)
}

func (f field) resetUsage() error {
	for _, p := range f.standing.Parts {
		p.ResetUsage()
	}
	return f.servers.ResetUsage()
}

// used is what the parts of a role used, all together.
func (f field) used(role string) (u cluster.Usage) {
	for _, p := range f.standing.Parts {
		if p.Role == role {
			cpu, rss := p.Usage()
			u.CPU, u.MaxRSS = u.CPU+cpu, u.MaxRSS+rss
		}
	}
	return u
}

// losses says of every backend and every part that ended unasked which one and why.
func (f field) losses() []string {
	all := f.servers.Losses()
	for _, p := range f.standing.Parts {
		all = append(all, p.Losses()...)
	}
	return all
}
