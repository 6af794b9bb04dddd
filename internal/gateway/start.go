package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
)

// ProcessSpec describes a gateway that runs as its own process.
type ProcessSpec struct {
	Self     []string // command line of this program
	Listen   string   // empty: a free loopback address
	Route    route.Route
	Service  cluster.Service // what the gateway calls over the route
	Settings settings.Settings
	Model    string
	Channel  string   // see [Options]
	Seed     uint64   // see [Options]
	Command  []string // command line of a gateway in another language; nil: this program
}

// Process is a running gateway process.
type Process struct {
	*component.Component
	Address string // host:port where it listens
}

// Start starts a gateway and returns when it serves.
func Start(ctx context.Context, p ProcessSpec) (Process, error) {
	run, err := p.program(ctx)
	if err != nil {
		return Process{}, err
	}
	run.Args = append(run.Args, "--supervised", "--listen", cmp.Or(p.Listen, "127.0.0.1:0"),
		"--model", p.Model, "--seed", strconv.FormatUint(p.Seed, 10))
	if p.Channel != "" {
		run.Args = append(run.Args, "--channel", p.Channel)
	}
	running, err := component.Start(ctx, component.Spec{Name: "gateway", Role: component.Gateway, StopTimeout: 2 * time.Second, Process: run})
	if err != nil {
		return Process{}, err
	}
	return Process{running, running.Address()}, nil
}

// program returns the command line of the gateway. A gateway in Go opens the route itself; one
// in another language receives a target URI.
func (p ProcessSpec) program(ctx context.Context) (run process.Spec, err error) {
	if p.Command == nil {
		service, err := json.Marshal(p.Service)
		if err != nil {
			return run, err
		}
		settings, err := json.Marshal(p.Settings)
		run.Args = append(slices.Clone(p.Self), "gateway", "--route", p.Route.Name, "--service", string(service), "--settings", string(settings))
		return run, err
	}
	target, err := p.Route.Open(ctx, p.Service, p.Settings, func(time.Time, []string) {})
	if err != nil {
		return run, err
	}
	defer target.Close() // the gateway itself dials the URI
	if target.PortableURI == "" {
		return run, fmt.Errorf("only a gateway in Go supports the route %s", p.Route.Name)
	}
	run.Args = append(slices.Clone(p.Command), "gateway", "--target", target.PortableURI, "--service-config", target.ServiceConfig, "--mode", p.Route.Name)
	run.Env = target.Env
	return run, nil
}
