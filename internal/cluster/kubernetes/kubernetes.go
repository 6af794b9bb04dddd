// Package kubernetes is a cluster on a real Kubernetes: backends are the pods of a
// Deployment, crews those of a Job, all in one namespace of the run's own
// (docs/decisions/0015).
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rpclab/internal/cluster"
)

// Options say what runs.
type Options struct {
	// ID is that of the run, which names its namespace: rpclab-<id>.
	ID    string
	Image string // of rpclab, as nodes know it: rpclab:v1.2.3
	// Progress hears what is being waited for, in one line; may be nil.
	Progress func(string)
}

// Cluster implements [cluster.Cluster] with pods. All that it makes lies in its namespace
// and ends with it.
type Cluster struct {
	Options
	api       *API
	namespace string
	token     string
	look      *lookout
	cordons   cordons

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu       sync.Mutex
	deployed int // gives the next name
	live     map[*deployment]bool
	crews    map[string][]*crew // by name, the last used last
}

// New makes the namespace of a run, once it has removed those of runs whose owner died.
// It fails with what may not be done here, and by whom it may be allowed.
func New(ctx context.Context, api *API, o Options) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if err := api.preflight(ctx); err != nil {
		return nil, err
	}
	o.Progress("looking for runs whose owner died")
	if err := api.reap(ctx); err != nil { // somebody else's: no reason not to run
		o.Progress(fmt.Sprintf("what an earlier run left stays: %v", err))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Cluster{
		Options: o, api: api, namespace: prefix + o.ID, token: newToken(),
		live: map[*deployment]bool{}, crews: map[string][]*crew{},
	}
	c.cordons.api = api
	c.ctx, c.cancel = context.WithCancel(context.Background())
	o.Progress("making the namespace " + c.namespace)
	if err := c.settle(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// settle makes the namespace and all that every pod of it needs, and begins to watch it.
func (c *Cluster) settle(ctx context.Context) error {
	if err := c.api.apply(ctx, namespaceObject(c.namespace, c.ID), leaseObject(c.namespace, c.ID)); err != nil {
		return err
	}
	c.tasks.Go(c.keepAlive)
	all := append(foundation(c.namespace, c.ID, c.token), reaping(c.place())...)
	if err := c.api.apply(ctx, all...); err != nil {
		return err
	}
	var err error
	c.look, err = watch(ctx, c.api, c.namespace)
	return err
}

// Close removes the namespace, with all that is in it, and returns when it is gone.
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
	if c.look != nil {
		c.look.close()
	}
	if c.cordons.some() { // only the namespace knows which
		return fmt.Errorf("%w\nNamespace %s stays until then: `rpclab clean --all` tries again", uncordoned, c.namespace)
	}
	return errors.Join(uncordoned, c.api.removeNamespace(c.namespace, c.Progress))
}

var (
	_ cluster.Cluster = (*Cluster)(nil)
	_ cluster.Meshed  = (*Cluster)(nil)
	_ cluster.Nodes   = (*deployment)(nil)
)
