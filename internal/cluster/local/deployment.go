package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/cut"
	"rpclab/internal/cluster/publish"
)

// deployment keeps as many backends as are wanted: like a Kubernetes Deployment it
// replaces one that dies, under a new identity and address.
type deployment struct {
	cluster   *Cluster
	spec      cluster.Spec
	endpoints *cluster.Endpoints
	publisher *publish.Publisher

	ctx    context.Context // ends with Remove
	cancel context.CancelFunc
	tasks  sync.WaitGroup // one a backend

	mu       sync.Mutex
	wanted   int
	rolling  bool // each backend is being replaced
	started  int  // gives the next identity
	replicas []*replica
	how      string // limits are kept; empty: there are none
	books    books
}

func newDeployment(c *Cluster, spec cluster.Spec, endpoints *cluster.Endpoints, publisher *publish.Publisher) *deployment {
	d := &deployment{cluster: c, spec: spec, endpoints: endpoints, publisher: publisher, wanted: spec.Replicas,
		books: newBooks()}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

func (d *deployment) Service() cluster.Service      { return d.publisher.Service() }
func (d *deployment) Endpoints() *cluster.Endpoints { return d.endpoints }

// start starts the first backends and returns when all are ready, or one cannot be.
func (d *deployment) start(ctx context.Context) error {
	ready := make(chan error, d.spec.Replicas)
	for range d.spec.Replicas {
		if err := d.add(func(err error) { ready <- err }); err != nil {
			return err
		}
	}
	for range d.spec.Replicas {
		select {
		case err := <-ready:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// add starts a backend and looks after it until it is gone. first hears, once,
// whether it became ready.
func (d *deployment) add(first func(error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launch(first)
}

// launch is add with d.mu held.
func (d *deployment) launch(first func(error)) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	addr, err := d.cluster.places.take()
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s-%d", d.spec.Name, d.started)
	program := d.spec.Command
	if program == nil {
		program = d.cluster.options.Server
	}
	command := slices.Concat(program, d.spec.Args, []string{"--drain", d.spec.Drain.String()})
	limits, err := d.cluster.bound(id, d.spec)
	if err != nil {
		return err
	}
	d.how = limits.how
	r, err := startReplica(id, addr, command, limits, d.spec, d.cluster.places.prober())
	if err != nil {
		limits.release()
		return err
	}
	if d.spec.Zones > 1 {
		r.zone = fmt.Sprintf("zone-%d", d.started%d.spec.Zones)
	}
	d.started++
	d.replicas = append(d.replicas, r)
	d.tasks.Go(func() { d.run(r, first) })
	return nil
}

// run is the life of a backend after its process began.
func (d *deployment) run(r *replica, first func(error)) {
	defer r.health.Close()
	defer r.limits.release()
	err := r.awaitReady(d.ctx)
	if err == nil {
		r.publish(d.endpoints, true)
		first(nil)
		r.tend(d.endpoints)
	} else {
		r.process.Kill()
		if why := r.limits.killed(r.id); why != "" {
			err = errors.New(why)
		}
		first(err)
	}
	d.endpoints.Remove(r.id)
	d.bury(r, err)
	if err != nil {
		// So that a server that cannot start does not fill the machine.
		select {
		case <-time.After(time.Second):
		case <-d.ctx.Done():
		}
	}
	d.replace(r)
}

// bury takes a backend that has ended out of the books, with what it used, and notes
// an end that nobody asked for.
func (d *deployment) bury(r *replica, failed error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replicas = slices.DeleteFunc(d.replicas, func(other *replica) bool { return other == r })
	d.books.ended[r.id] = r.within(cluster.Usage{CPU: r.process.CPU() - r.baseline, MaxRSS: r.peak})
	if calls, ok := r.Final(); ok && r.counted {
		d.books.served[r.id] = calls - r.began
	}
	if d.ctx.Err() != nil || r.retired() {
		return
	}
	if why := r.limits.killed(r.id); why != "" {
		failed = errors.New(why)
	}
	if failed == nil {
		failed = fmt.Errorf("server %s ended unasked: %v; its last lines:\n%s", r.id, r.process.Err(), indent(r.process.Log()))
	}
	d.books.losses = append(d.books.losses, failed.Error())
}

// replace starts another backend for one that is gone, if one is still wanted.
func (d *deployment) replace(old *replica) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.active()) >= d.wanted {
		return
	}
	if err := d.launch(func(error) {}); err != nil && d.ctx.Err() == nil {
		d.books.losses = append(d.books.losses, fmt.Sprintf("server %s cannot be replaced: %v", old.id, err))
	}
}

// active are the backends that were not told to go; call it with d.mu held.
func (d *deployment) active() []*replica {
	var active []*replica
	for _, r := range d.replicas {
		if !r.retired() {
			active = append(active, r)
		}
	}
	return active
}

// Remove ends every backend at once: the trial is over, nobody waits for answers.
func (d *deployment) Remove() error {
	d.cancel()
	d.mu.Lock()
	d.wanted = 0
	dying := slices.Clone(d.replicas)
	d.mu.Unlock()
	var gone sync.WaitGroup
	for _, r := range dying {
		r.retire()
		gone.Go(r.process.Kill)
	}
	gone.Wait()
	d.tasks.Wait()
	d.cluster.forget(d)
	return errors.Join(cut.Heal(d.spec.Name), d.publisher.Close())
}
