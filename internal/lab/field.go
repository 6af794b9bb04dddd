package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/route"
	"rpclab/internal/route/part"
)

// field is all that a trial's calls meet: backends, and what stands before them.
type field struct {
	servers  cluster.Deployment
	standing route.Standing
}

// stand starts what stands before the backends on the trial's route.
func (l *lab) stand(ctx context.Context, t experiment.Trial, s cluster.Service) (route.Standing, error) {
	plain := route.Standing{Services: []cluster.Service{s}}
	way, err := route.Lookup(t.Config.Route)
	if err != nil || way.Stand == nil {
		return plain, err
	}
	dir, err := os.MkdirTemp("", "rpclab-")
	if err != nil {
		return plain, err
	}
	standing, err := way.Stand(ctx, s, settingsOf(t.Config), route.Host{Self: l.Self, Dir: dir, Callers: 1, Listen: freeAddress})
	if err != nil {
		return plain, errors.Join(fmt.Errorf("route %s: %w", way.Name, err), os.RemoveAll(dir))
	}
	standing.Dir = dir
	return standing, nil
}

// freeAddress is a place to listen at that was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// kill ends the parts of a role.
func (f field) kill(ctx context.Context, role string) error {
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

// proxies is what the proxies of the route used, all together.
func (f field) proxies() (u cluster.Usage) {
	for _, p := range f.standing.Parts {
		if p.Role == part.Proxy {
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
