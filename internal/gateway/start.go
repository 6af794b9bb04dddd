package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
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
	Seed     uint64 // of the numbers that it draws
}

// Running is a gateway's process and where it answers.
type Running struct {
	*part.Part
	Address string // host:port
}

// Start runs `rpclab gateway` and returns when it answers.
func Start(ctx context.Context, p Place) (Running, error) {
	if p.Listen == "" {
		p.Listen = "127.0.0.1:0"
	}
	service, err := json.Marshal(p.Service)
	if err != nil {
		return Running{}, err
	}
	ways, err := json.Marshal(p.Settings)
	if err != nil {
		return Running{}, err
	}
	running, err := part.Start(ctx, part.Spec{
		Name: "gateway", Role: part.Gateway, Grace: 2 * time.Second,
		Run: process.Spec{Args: append(p.Self[:len(p.Self):len(p.Self)], "gateway", "--supervised",
			"--listen", p.Listen, "--route", p.Route, "--service", string(service), "--settings", string(ways), "--model", p.Model, "--seed", strconv.FormatUint(p.Seed, 10))},
	})
	if err != nil {
		return Running{}, err
	}
	return Running{running, running.Address()}, nil
}
