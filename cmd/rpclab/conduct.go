package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

// conduct opens a cluster and runs a plan on it, for the command line and for the page.
func conduct(ctx context.Context, plan lab.Plan, o lab.Options, open func(*lab.Options) (cluster.Cluster, error)) (document result.Document, err error) {
	self, err := os.Executable()
	if err != nil {
		return document, fmt.Errorf("find the rpclab binary to start servers from it: %w", err)
	}
	o.Self = []string{self}
	if o.MaxFiles, err = process.RaiseFileLimit(); err != nil {
		return document, err
	}
	if o.Cluster, err = open(&o); err != nil {
		return document, err
	}
	defer func() { err = errors.Join(err, o.Cluster.Close()) }()
	return lab.Run(ctx, plan, o)
}

func conductLocal(ctx context.Context, out io.Writer, plan lab.Plan, o lab.Options) (result.Document, error) {
	return conduct(ctx, plan, o, func(o *lab.Options) (cluster.Cluster, error) { return openLocal(out, plan, o) })
}

// openLocal creates a cluster on this machine, which logs errors to out.
func openLocal(out io.Writer, plan lab.Plan, o *lab.Options) (cluster.Cluster, error) {
	if plan.DropsPackets() {
		if err := process.IsolateNetwork(); err != nil {
			return nil, fmt.Errorf("event cut, how: blackhole: %w", err)
		}
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}))
	return local.New(local.Options{Server: append(o.Self[:1:1], "server"), Self: o.Self, Log: log})
}
