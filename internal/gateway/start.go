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
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// Place is a gateway that is a process of its own.
type Place struct {
	Self     []string // this program
	Listen   string   // empty: a free address on loopback
	Route    string
	Service  cluster.Service // as it is reached on the route
	Settings settings.Settings
	Model    string
	Channel  string   // as [Options] has it
	Seed     uint64   // of the numbers that it draws
	Command  []string // runs programs of another language, which the gateway is one of; nil: it is ours
}

// Running is a gateway's process and where it answers.
type Running struct {
	*part.Part
	Address string // host:port
}

// Start runs a gateway and returns when it answers.
func Start(ctx context.Context, p Place) (Running, error) {
	run, err := p.program(ctx)
	if err != nil {
		return Running{}, err
	}
	run.Args = append(run.Args, "--supervised", "--listen", cmp.Or(p.Listen, "127.0.0.1:0"),
		"--model", p.Model, "--seed", strconv.FormatUint(p.Seed, 10))
	if p.Channel != "" {
		run.Args = append(run.Args, "--channel", p.Channel)
	}
	running, err := part.Start(ctx, part.Spec{Name: "gateway", Role: part.Gateway, Grace: 2 * time.Second, Run: run})
	if err != nil {
		return Running{}, err
	}
	return Running{running, running.Address()}, nil
}

// program is the gateway's, and where its calls go: ours opens the route itself, one in
// another language is told what to dial.
func (p Place) program(ctx context.Context) (run process.Spec, err error) {
	if p.Command == nil {
		service, err := json.Marshal(p.Service)
		if err != nil {
			return run, err
		}
		ways, err := json.Marshal(p.Settings)
		run.Args = append(slices.Clone(p.Self), "gateway", "--route", p.Route, "--service", string(service), "--settings", string(ways))
		return run, err
	}
	way, err := route.Lookup(p.Route)
	if err != nil {
		return run, err
	}
	target, err := way.Open(ctx, p.Service, p.Settings, func(time.Time, []string) {})
	if err != nil {
		return run, err
	}
	defer target.Close() // what it holds is for clients in Go
	if target.Foreign == "" {
		return run, fmt.Errorf("only a gateway in Go takes the route %s", p.Route)
	}
	run.Args = append(slices.Clone(p.Command), "gateway", "--target", target.Foreign, "--service-config", target.ServiceConfig, "--mode", p.Route)
	run.Env = target.Env
	return run, nil
}
