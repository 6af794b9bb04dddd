package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// run is what the deployments and callers of one run share: the namespace, the connection to the
// API server and a cache of the namespace's pods.
type run struct {
	objectScope
	api      *API
	progress func(string) // receives what the run waits for
	note     func(string) // receives what the user should know
	token    string       // of the agents
	watcher  *watcher
	cordons  cordons
	scales   scales
	images   images

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	named atomic.Int64 // names that uniqueName returned
	noted sync.Map     // texts that noteOnce passed on

	originals sync.Map // *appsv1.Deployment by NAMESPACE/NAME: those that it copies

	meters atomic.Value // string: why the cluster starts no meters
}

func newRun(api *API, scope objectScope, progress, note func(string)) *run {
	ctx, cancel := context.WithCancel(context.Background())
	return &run{
		objectScope: scope, api: api, progress: progress, note: note, token: rand.Text(),
		cordons: cordons{api: api, namespace: scope.namespace}, scales: scales{api: api, namespace: scope.namespace, note: note}, ctx: ctx, cancel: cancel,
	}
}

// create creates the namespace and the objects that every pod needs, and watches it.
func (r *run) create(ctx context.Context) (err error) {
	r.progress("creating the namespace " + r.namespace)
	if err := r.api.apply(ctx, namespaceObject(r.objectScope), leaseObject(r.objectScope)); err != nil {
		return err
	}
	r.tasks.Go(func() { r.api.renewLease(r.ctx, r.objectScope) })
	shared := append(sharedObjects(r.objectScope, r.token), reaperObjects(r.objectScope)...)
	if err := r.api.apply(ctx, shared...); err != nil {
		return err
	}
	r.watcher, err = watch(ctx, r.api, r.namespace)
	return err
}

// uniqueName numbers a name: greeter-1. No two objects of a run have the same number. The name of a Service begins with a
// letter (RFC 1035), and that of a service file may begin with a digit.
func (r *run) uniqueName(name string) string {
	if name[0] <= '9' {
		name = "service-" + name
	}
	return fmt.Sprintf("%s-%d", name, r.named.Add(1))
}

// noteOnce tells the user something once in a run.
func (r *run) noteOnce(text string) {
	if _, known := r.noted.LoadOrStore(text, true); !known {
		r.note(text)
	}
}

// close deletes the namespace with its objects, and returns when it is gone.
func (r *run) close() error {
	_, uncordoned := r.cordons.undo(context.Background())
	_, scaled := r.scales.undo(context.Background())
	undone := errors.Join(uncordoned, scaled)
	r.cancel()
	r.tasks.Wait()
	if r.watcher != nil {
		r.watcher.close()
	}
	if r.cordons.any() || r.scales.any() { // the namespace lists them
		return fmt.Errorf("%w\nNamespace %s remains: `rpclab clean --all` tries again", undone, r.namespace)
	}
	return errors.Join(undone, r.api.removeNamespace(r.namespace, r.progress))
}
