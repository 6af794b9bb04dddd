// Package local is a cluster on this machine. Every backend is a child process with its own
// loopback address, and the endpoints are published by DNS and the EndpointSlice API.
package local

import (
	"errors"
	"log/slog"
	"sync"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
)

// Options configure the cluster.
type Options struct {
	// Server is the server program and its first arguments: [rpclab server].
	Server []string
	// Self is the rpclab program, some of whose commands are callers.
	Self []string
	// SingleAddress starts all backends on 127.0.0.1, each on its own port, as on a system with
	// one loopback address. The route headless does not work then.
	SingleAddress bool
	// NoCgroups makes the cluster enforce limits without control groups.
	NoCgroups bool
	Log       *slog.Logger
}

// Cluster implements [cluster.Cluster] with processes.
type Cluster struct {
	options   Options
	addresses *addresses

	mu            sync.Mutex
	live          map[cluster.Deployment]bool
	cgroups       *cgroups // of backends with limits; nil: none yet, or pinned
	pinned        bool     // no control group can be made
	nextProcessor int      // to pin to
}

// New makes an empty cluster. It raises the limit of open files as far as it can.
func New(o Options) (*Cluster, error) {
	if _, err := process.RaiseFileLimit(); err != nil {
		return nil, err
	}
	addresses, err := newAddresses(o.SingleAddress)
	if err != nil {
		return nil, err
	}
	removeStale()
	return &Cluster{options: o, addresses: addresses, live: map[cluster.Deployment]bool{}}, nil
}

// Close removes every deployment.
func (c *Cluster) Close() error {
	c.mu.Lock()
	var all []cluster.Deployment
	for d := range c.live {
		all = append(all, d)
	}
	c.mu.Unlock()
	var errs []error
	for _, d := range all {
		errs = append(errs, d.Remove())
	}
	c.cgroups.close()
	c.cgroups = nil
	return errors.Join(errs...)
}

func (c *Cluster) forget(d cluster.Deployment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, d)
}
