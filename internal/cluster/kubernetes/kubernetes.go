// Package kubernetes is a cluster on Kubernetes. Backends are the pods of a Deployment,
// callers those of Jobs, all in a namespace of the run (docs/decisions/0015).
package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"rpclab/internal/cluster"
)

// Options configure the cluster.
type Options struct {
	// ID is that of the run, which names its namespace: rpclab-<id>.
	ID    string
	Image string // of rpclab, as nodes know it: rpclab:v1.2.3
	// Architecture of the programs in the image, whose pods run on Linux nodes of this architecture only: amd64. Empty: on all
	// nodes.
	Architecture string
	// Progress receives what the run waits for, in one line; may be nil.
	Progress func(string)
	// Disruptions are permitted on Services that run already.
	Disruptions []Disruption
	// Note receives what the user should know, in a sentence; may be nil.
	Note func(string)
}

// Cluster implements [cluster.Cluster] with pods. All its objects are in its namespace and are
// deleted with it.
type Cluster struct {
	run     *run
	callers *callerPool
	// mayDisturb says that the user permits disruptions of Services that run already.
	mayDisturb bool
}

var (
	_ cluster.Cluster     = (*Cluster)(nil)
	_ cluster.MeshProxies = (*Cluster)(nil)
	_ cluster.Images      = (*Cluster)(nil)
)

// New removes the namespaces of runs whose owner died, and creates one for this run. [API.CheckPermissions] says whether
// this user may.
func New(ctx context.Context, api *API, options Options) (*Cluster, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	if options.Note == nil {
		options.Note = func(string) {}
	}
	options.Progress("looking for runs that were killed")
	cleaned, err := api.beginClean(ctx, OwnerDead)
	for _, dead := range cleaned {
		for _, restored := range dead.Restored {
			options.Note(fmt.Sprintf("%s, after the run %s was killed", restored, dead.Run))
		}
	}
	if err != nil { // of another run: this one can start
		options.Progress(fmt.Sprintf("objects of an earlier run remain: %v", err))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, d := range options.Disruptions {
		text, err := d.prepare(ctx, api)
		if err != nil {
			return nil, err
		}
		options.Note(text)
	}
	created := newRun(api, objectScope{prefix + options.ID, options.ID, options.Image, options.Architecture}, options.Progress, options.Note)
	if err := created.create(ctx); err != nil {
		return nil, errors.Join(err, created.close())
	}
	return &Cluster{run: created, callers: newCallerPool(created), mayDisturb: len(options.Disruptions) > 0}, nil
}

// Deploy creates a Deployment with a unique name, so that no cached DNS answer belongs to an
// earlier one. It returns when all pods are ready and their agents are attached.
func (c *Cluster) Deploy(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if spec.Existing != "" {
		d, err := deployExisting(ctx, c.run, spec)
		if err != nil {
			return nil, err
		}
		if c.mayDisturb {
			return &disturbed{existing: d}, nil
		}
		return d, nil
	}
	return deploy(ctx, c.run, spec)
}

// StartCallers starts processes in pods, and the pods if none of their shape exist.
func (c *Cluster) StartCallers(ctx context.Context, spec cluster.CallerSpec) ([]cluster.Caller, error) {
	return c.callers.start(ctx, spec)
}

// ProxyUsage implements [cluster.MeshProxies].
func (c *Cluster) ProxyUsage(ctx context.Context, mesh string) (map[string]cluster.Usage, error) {
	return c.run.api.ContainerUsage(ctx, c.run.namespace, meshes[mesh].proxy, func() map[string]string {
		return runningProxies(c.run.watcher.allPods(), mesh)
	})
}

// ImageIDs implements [cluster.Images].
func (c *Cluster) ImageIDs() map[string][]string { return c.run.images.ids() }

// Close deletes the namespace with its objects, and returns when it is gone.
func (c *Cluster) Close() error { return c.run.close() }
