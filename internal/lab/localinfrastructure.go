package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/measure"
	"rpclab/internal/route"
	"rpclab/internal/route/component"
)

// localInfrastructure is infrastructure whose components are children of this process.
type localInfrastructure struct {
	route.Infrastructure
	gateway string // host:port; empty: none
}

// startLocalInfrastructure starts the components of a route and the gateway. self is the
// command line of this program.
func startLocalInfrastructure(ctx context.Context, self []string, rt route.Route, spec infrastructureSpec) (h localInfrastructure, err error) {
	host := route.Host{Self: self, Callers: spec.Callers, IP: spec.IP, TLS: spec.TLS}
	if spec.Gateway != nil {
		host.IP = "" // only the gateway, on this machine, dials the route
	}
	h.Infrastructure, err = rt.StartInfrastructure(ctx, spec.Service, spec.Settings, host)
	if err != nil || spec.Gateway == nil {
		return h, err
	}
	process := gateway.ProcessSpec{
		Self: self, Route: rt, Service: h.ServiceFor(0), Settings: spec.Settings,
		Model: spec.Gateway.Model, Channel: spec.Gateway.Channel, Seed: spec.Gateway.Seed, Command: spec.Gateway.Command,
	}
	if spec.IP != "" {
		process.Listen = net.JoinHostPort(spec.IP, strconv.Itoa(spec.Gateway.Port))
	}
	g, err := gateway.Start(ctx, process)
	if err != nil {
		return h, errors.Join(err, h.Close())
	}
	h.gateway = g.Address
	h.Components = slices.Concat([]*component.Component{g.Component}, h.Components) // it exits before the proxies that it calls
	return h, nil
}

func (l localInfrastructure) service(n int) cluster.Service { return l.ServiceFor(n) }
func (l localInfrastructure) files() map[string]string      { return l.Files }
func (l localInfrastructure) close() error                  { return l.Close() }

func (l localInfrastructure) kill(ctx context.Context, role string) error {
	errs := make([]error, len(l.Components))
	var killing sync.WaitGroup // all at once, since each waits until its component is ready again
	found := false
	for i, c := range l.Components {
		if c.Role == role {
			found = true
			killing.Go(func() { errs[i] = c.Kill(ctx) })
		}
	}
	killing.Wait()
	if !found {
		return fmt.Errorf("this route has no %s", role)
	}
	return errors.Join(errs...)
}

func (l localInfrastructure) resetUsage() error {
	for _, c := range l.Components {
		c.ResetUsage()
	}
	return nil
}

func (l localInfrastructure) used(role string) (u cluster.Usage, _ error) {
	for _, c := range l.Components {
		if c.Role == role {
			cpu, rss := c.Usage()
			u.CPU, u.MaxRSS = u.CPU+cpu, u.MaxRSS+rss
			u.Connections = append(u.Connections, c.AcceptedConnections()...)
		}
	}
	return u, nil
}

func (l localInfrastructure) failures() (all []string) {
	for _, c := range l.Components {
		all = append(all, c.Failures()...)
	}
	return all
}

func (l localInfrastructure) processes() (all []measure.Watched) {
	for _, c := range l.Components {
		all = append(all, c.Processes()...)
	}
	return all
}
