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
	generator "rpclab/internal/load"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

// conduct opens a cluster and runs a plan on it, for the command line and for the page.
func conduct(ctx context.Context, plan lab.Plan, o lab.Options, open func(*lab.Options) (cluster.Cluster, error)) (document result.Document, err error) {
	process.RemoveLeftTempDirs()
	if o.Self, err = thisProgram("servers"); err != nil {
		return document, err
	}
	if o.MaxFiles, err = process.RaiseFileLimit(); err != nil {
		return document, err
	}
	o.FreeMemory = measure.FreeMemory()
	if o.Cluster, err = open(&o); err != nil {
		return document, err
	}
	if o.Cluster != nil {
		defer func() { err = errors.Join(err, o.Cluster.Close()) }()
	}
	return lab.Run(ctx, plan, o)
}

// thisProgram is the command line of this program, which also runs what.
func thisProgram(what string) ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the rpclab binary to start %s from it: %w", what, err)
	}
	return []string{path}, nil
}

// conductLocal runs a plan on this machine, once no other run uses it.
func conductLocal(ctx context.Context, out io.Writer, plan lab.Plan, o lab.Options, machine machineFlags) (document result.Document, err error) {
	if err := isolate(plan); err != nil {
		return document, err
	}
	name := "rpclab run " + plan.Name
	if plan.Name == generator.Experiment {
		name = "rpclab load " + plan.Arms[0].Name
	}
	entry, err := machine.enter(ctx, out, name)
	if err != nil {
		return document, err
	}
	defer entry.Leave()
	if machine.entered != nil {
		if err := machine.entered(); err != nil {
			return document, err
		}
	}
	o.OtherRuns = entry.Others
	return conduct(ctx, plan, o, func(o *lab.Options) (cluster.Cluster, error) {
		if plan.AtTarget() {
			return nil, nil
		}
		return openLocal(out, o.Self)
	})
}

// isolate moves this program into a network of its own if the plan drops packets.
func isolate(plan lab.Plan) error {
	if !plan.DropsPackets() {
		return nil
	}
	if err := process.IsolateNetwork(); err != nil {
		return fmt.Errorf("event cut, how: blackhole: %w", err)
	}
	return nil
}

// openLocal creates a cluster on this machine, which logs errors to out.
func openLocal(out io.Writer, self []string) (cluster.Cluster, error) {
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}))
	return local.New(local.Options{Server: append(self[:1:1], "server"), Self: self, Log: log})
}
