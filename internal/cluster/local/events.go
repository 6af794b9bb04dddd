package local

import (
	"context"
	"errors"
	"fmt"
)

// Scale starts backends, or tells the newest ones to go: each is published as
// terminating, told by SIGTERM in the same moment, and taken out when it is gone.
func (d *deployment) Scale(_ context.Context, replicas int) ([]string, error) {
	if replicas < 1 {
		return nil, fmt.Errorf("scale %s to %d: at least 1 backend is needed", d.spec.Name, replicas)
	}
	d.mu.Lock()
	d.wanted = replicas
	active := d.active()
	for _, r := range active {
		r.sampleMemory()
	}
	d.mu.Unlock()
	for range replicas - len(active) {
		if err := d.add(func(error) {}); err != nil {
			return nil, fmt.Errorf("scale %s to %d: %w", d.spec.Name, replicas, err)
		}
	}
	leaving := active[min(replicas, len(active)):]
	for _, r := range leaving {
		d.dismiss(r)
	}
	return identities(leaving), nil
}

// Stop ends the n oldest ready backends gracefully. Each is replaced at once, as a
// ReplicaSet does for a pod that is being deleted.
func (d *deployment) Stop(_ context.Context, n int) ([]string, error) {
	return d.each(n, func(r *replica) error {
		d.dismiss(r)
		d.replace(r)
		return nil
	})
}

// dismiss publishes a backend as terminating and tells it to go, in the same moment.
func (d *deployment) dismiss(r *replica) {
	r.leave(d.endpoints)
	d.tasks.Go(func() { r.stop(d.spec.Drain) })
}

// Kill ends the n oldest ready backends with SIGKILL.
func (d *deployment) Kill(_ context.Context, n int) ([]string, error) {
	return d.each(n, func(r *replica) error {
		r.kill()
		return nil
	})
}

// Pause stops the n oldest ready backends with SIGSTOP.
func (d *deployment) Pause(_ context.Context, n int) ([]string, error) {
	return d.each(n, func(r *replica) error { return r.pause(true) })
}

// Resume lets every paused backend go on.
func (d *deployment) Resume(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, r := range d.active() {
		if r.isPaused() {
			errs = append(errs, r.pause(false))
		}
	}
	return errors.Join(errs...)
}

// each does something to the n oldest backends that are ready and not paused: the
// oldest, because a client that knows any backend at all knows those, so that the
// event means the same to every arm and in every round. It returns their identities.
func (d *deployment) each(n int, do func(*replica) error) ([]string, error) {
	ready := map[string]bool{}
	now, _ := d.endpoints.Now()
	for _, e := range now.Ready() {
		ready[e.ID] = true
	}
	d.mu.Lock()
	var able []*replica
	for _, r := range d.active() {
		if ready[r.id] && !r.isPaused() {
			r.sampleMemory()
			able = append(able, r)
		}
	}
	d.mu.Unlock()
	if len(able) < n {
		return nil, fmt.Errorf("%d of %s's backends are ready, %d are needed", len(able), d.spec.Name, n)
	}
	var errs []error
	for _, r := range able[:n] {
		errs = append(errs, do(r))
	}
	return identities(able[:n]), errors.Join(errs...)
}

func identities(replicas []*replica) (ids []string) {
	for _, r := range replicas {
		ids = append(ids, r.id)
	}
	return ids
}
