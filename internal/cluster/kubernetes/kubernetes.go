// Package kubernetes is a cluster on Kubernetes. Backends are the pods of a Deployment,
// callers those of Jobs, all in a namespace of the run (docs/decisions/0015).
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rpclab/internal/cluster"
)

// Options configure the cluster.
type Options struct {
	// ID is that of the run, which names its namespace: rpclab-<id>.
	ID    string
	Image string // of rpclab, as nodes know it: rpclab:v1.2.3
	// Progress receives what the run waits for, in one line; may be nil.
	Progress func(string)
}

// Cluster implements [cluster.Cluster] with pods. All its objects are in its namespace and are
// deleted with it.
type Cluster struct {
	Options
	api       *API
	namespace string
	token     string
	watcher   *watcher
	cordons   cordons

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu       sync.Mutex
	deployed int // numbers the names
	live     map[*deployment]bool
	callers  map[string][]*callerPods // by name, the last used last
}

// New removes the namespaces of runs whose owner died, and creates one for this run. Its error
// says which permissions this user lacks.
func New(ctx context.Context, api *API, o Options) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := api.preflight(ctx); err != nil {
		return nil, err
	}
	o.Progress("looking for runs that were killed")
	if err := api.reap(ctx); err != nil { // of another run: this one can start
		o.Progress(fmt.Sprintf("objects of an earlier run remain: %v", err))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Cluster{
		Options: o, api: api, namespace: prefix + o.ID, token: newToken(),
		live: map[*deployment]bool{}, callers: map[string][]*callerPods{},
	}
	c.cordons.api = api
	c.ctx, c.cancel = context.WithCancel(context.Background())
	o.Progress("creating the namespace " + c.namespace)
	if err := c.createShared(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// createShared creates the namespace and the objects that every pod needs, and watches it.
func (c *Cluster) createShared(ctx context.Context) error {
	if err := c.api.apply(ctx, namespaceObject(c.namespace, c.ID), leaseObject(c.namespace, c.ID)); err != nil {
		return err
	}
	c.tasks.Go(c.keepAlive)
	all := append(sharedObjects(c.namespace, c.ID, c.token), reaperObjects(c.scope())...)
	if err := c.api.apply(ctx, all...); err != nil {
		return err
	}
	var err error
	c.watcher, err = watch(ctx, c.api, c.namespace)
	return err
}

// Close deletes the namespace with its objects, and returns when it is gone.
func (c *Cluster) Close() error {
	c.mu.Lock()
	var all []*deployment
	for d := range c.live {
		all = append(all, d)
	}
	c.mu.Unlock()
	for _, d := range all {
		d.abandon()
	}
	uncordoned := c.cordons.undo(c.namespace)
	c.cancel()
	c.tasks.Wait()
	if c.watcher != nil {
		c.watcher.close()
	}
	if c.cordons.any() { // the namespace lists them
		return fmt.Errorf("%w\nNamespace %s remains: `rpclab clean --all` tries again", uncordoned, c.namespace)
	}
	return errors.Join(uncordoned, c.api.removeNamespace(c.namespace, c.Progress))
}

var (
	_ cluster.Cluster     = (*Cluster)(nil)
	_ cluster.MeshProxies = (*Cluster)(nil)
	_ cluster.Nodes       = (*deployment)(nil)
)
