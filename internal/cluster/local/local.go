// Package local is a cluster on this machine: every backend is a child process on a
// loopback address of its own, and the endpoints are published by real protocols.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/process"
)

// Options say how the cluster makes its processes.
type Options struct {
	// Server is the program of a backend and its first arguments: [rpclab server].
	Server []string
	// Self is rpclab itself, whose commands crews run.
	Self []string
	// OneAddress puts all backends on 127.0.0.1, each on a port of its own, as where
	// the system has one loopback address. Routes by DNS do not work there.
	OneAddress bool
	// NoGroups makes no control groups: limits are kept as where there are none.
	NoGroups bool
	Log      *slog.Logger
}

// Cluster implements [cluster.Cluster] with processes.
type Cluster struct {
	options Options
	places  *places

	mu     sync.Mutex
	live   map[*deployment]bool
	groups *groups // of backends with limits; nil: none yet, or pinned
	pinned bool    // there can be none
	turn   int     // the next processor to pin to
}

// New makes an empty cluster. It raises the limit of open files as far as it can.
func New(o Options) (*Cluster, error) {
	if _, err := process.MaxFiles(); err != nil {
		return nil, err
	}
	places, err := newPlaces(o.OneAddress)
	if err != nil {
		return nil, err
	}
	sweep()
	return &Cluster{options: o, places: places, live: map[*deployment]bool{}}, nil
}

// Deploy starts the backends of a service and returns when all are ready.
func (c *Cluster) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if spec.Replicas < 1 {
		return nil, fmt.Errorf("deploy %s: %d replicas; at least 1 is needed", spec.Name, spec.Replicas)
	}
	endpoints := cluster.NewEndpoints()
	names := publish.Names{Service: spec.Name, Namespace: "default", Port: c.places.port}
	publisher, err := publish.Serve(endpoints, names, c.places.own)
	if err != nil {
		return nil, err
	}
	d := newDeployment(c, spec, endpoints, publisher)
	c.mu.Lock()
	c.live[d] = true
	c.mu.Unlock()
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// Close removes every deployment.
func (c *Cluster) Close() error {
	c.mu.Lock()
	var all []*deployment
	for d := range c.live {
		all = append(all, d)
	}
	c.mu.Unlock()
	var errs []error
	for _, d := range all {
		errs = append(errs, d.Remove())
	}
	c.groups.close()
	c.groups = nil
	return errors.Join(errs...)
}

func (c *Cluster) forget(d *deployment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, d)
}
