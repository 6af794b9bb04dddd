package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"rpclab/internal/cluster"
	"rpclab/internal/gateway"
	"rpclab/internal/route"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// standOrder is what is to stand before the backends. It crosses processes as JSON.
type standOrder struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Gateway  *standGateway     `json:"gateway,omitempty"` // nil: the callers make the calls
	Callers  int               `json:"callers"`           // that need what each has of its own
	IP       string            `json:"ip,omitempty"`      // where it listens; empty: 127.0.0.1
}

type standGateway struct {
	Model   string   `json:"model"`
	Channel string   `json:"channel,omitempty"`
	Seed    uint64   `json:"seed"`              // of the numbers that it draws
	Command []string `json:"command,omitempty"` // as [gateway.Place] has it
}

// here is what stands as children of this process.
type here struct {
	route.Standing
	gateway string // host:port; empty: none
}

// up starts it.
func (o standOrder) up(ctx context.Context, self []string) (h here, err error) {
	way, err := route.Lookup(o.Route)
	if err != nil {
		return h, err
	}
	host := route.Host{Self: self, Callers: o.Callers, IP: o.IP}
	if o.Gateway != nil {
		host.IP = "" // it is the only one who calls
	}
	h.Standing, err = way.Up(ctx, o.Service, o.Settings, host)
	if err != nil || o.Gateway == nil {
		return h, err
	}
	place := gateway.Place{
		Self: self, Route: o.Route, Service: h.Service(0), Settings: o.Settings,
		Model: o.Gateway.Model, Channel: o.Gateway.Channel, Seed: o.Gateway.Seed, Command: o.Gateway.Command,
	}
	if o.IP != "" {
		place.Listen = net.JoinHostPort(o.IP, "0")
	}
	g, err := gateway.Start(ctx, place)
	if err != nil {
		return h, errors.Join(err, h.Close())
	}
	h.gateway = g.Address
	h.Parts = slices.Concat([]*part.Part{g.Part}, h.Parts) // it ends before what it calls
	return h, nil
}

func (h here) service(n int) cluster.Service { return h.Service(n) }
func (h here) files() map[string]string      { return h.Files }
func (h here) close() error                  { return h.Close() }

func (h here) kill(ctx context.Context, role string) error {
	errs := make([]error, len(h.Parts))
	var killing sync.WaitGroup // all at once: none waits until another is back
	found := false
	for i, p := range h.Parts {
		if p.Role == role {
			found = true
			killing.Go(func() { errs[i] = p.Kill(ctx) })
		}
	}
	killing.Wait()
	if !found {
		return fmt.Errorf("this route has no %s", role)
	}
	return errors.Join(errs...)
}

func (h here) resetUsage() error {
	for _, p := range h.Parts {
		p.ResetUsage()
	}
	return nil
}

func (h here) used(role string) (u cluster.Usage, _ error) {
	for _, p := range h.Parts {
		if p.Role == role {
			cpu, rss := p.Usage()
			u.CPU, u.MaxRSS = u.CPU+cpu, u.MaxRSS+rss
			u.Connections = append(u.Connections, p.TakenConnections()...)
		}
	}
	return u, nil
}

func (h here) losses() (all []string) {
	for _, p := range h.Parts {
		all = append(all, p.Losses()...)
	}
	return all
}
