package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/cluster/local"
	"rpclab/internal/experiment"
	"rpclab/internal/image"
	"rpclab/internal/lab"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

// openLocal makes a cluster of this machine, which says on out what goes wrong.
func openLocal(out io.Writer, plan experiment.Plan, o *lab.Options) (cluster.Cluster, error) {
	if plan.Vanishes() {
		if err := process.OwnNetwork(); err != nil {
			return nil, fmt.Errorf("event cut, how: blackhole: %w", err)
		}
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}))
	return local.New(local.Options{Server: append(o.Self[:1:1], "server"), Self: o.Self, Log: log})
}

// openKubernetes makes a cluster of a Kubernetes' namespace, and says what it waits for.
func (f runFlags) openKubernetes(ctx context.Context, o *lab.Options, wait func(string)) (cluster.Cluster, error) {
	name := cmp.Or(f.image, os.Getenv("RPCLAB_IMAGE"))
	if name == "" {
		var err error
		if name, err = image.DefaultName(); err != nil {
			return nil, err
		}
	}
	api, err := kubernetes.Connect(f.where)
	if err != nil {
		return nil, err
	}
	o.Kubernetes, o.Remote = api.Version, true
	for _, n := range api.Nodes(ctx) {
		o.Nodes = append(o.Nodes, result.Node(n))
	}
	return kubernetes.New(ctx, api, kubernetes.Options{ID: o.ID, Image: name, Progress: wait})
}
