package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"rpclab/internal/cluster"
)

// Scale starts backends, or stops the newest: it publishes each as terminating and sends SIGTERM at the
// same time, or to a program of the user's after the drain. A backend that has exited is no longer published.
func (d *deployment) Scale(_ context.Context, replicas int) ([]string, error) {
	if replicas < 1 {
		return nil, fmt.Errorf("scale %s to %d: at least 1 backend is needed", d.spec.Name, replicas)
	}
	d.mu.Lock() // until the end, because replace starts backends too
	defer d.mu.Unlock()
	if err := d.cluster.checkProgram(d.spec.Program, replicas); err != nil {
		return nil, fmt.Errorf("scale %s to %d: %w", d.spec.Name, replicas, err)
	}
	d.wanted = replicas
	active := d.active()
	for _, r := range active {
		r.sample()
	}
	for range replicas - len(active) {
		if err := d.launch(func(error) {}); err != nil {
			return nil, fmt.Errorf("scale %s to %d: %w", d.spec.Name, replicas, err)
		}
	}
	leaving := active[min(replicas, len(active)):]
	for _, r := range leaving {
		d.dismiss(r)
	}
	return identities(leaving), nil
}

// Stop ends the n oldest ready backends gracefully, and replaces each at once, as a
// ReplicaSet does for a pod that is being deleted.
func (d *deployment) Stop(_ context.Context, n int) ([]string, error) {
	d.mu.Lock()
	err := d.cluster.checkProgram(d.spec.Program, d.wanted+1)
	d.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("stop %d of %s: %w", n, d.spec.Name, err)
	}
	return d.each(n, func(r *replica) error {
		d.dismiss(r)
		d.replace(r)
		return nil
	})
}

// dismiss publishes a backend as terminating and stops it.
func (d *deployment) dismiss(r *replica) {
	r.publishTerminating(d.endpoints)
	d.tasks.Go(func() { r.stop(d.spec.Drain) })
}

// Kill ends the n oldest ready backends with SIGKILL.
func (d *deployment) Kill(_ context.Context, n int) ([]string, error) {
	if why := d.WhyUsageUnknown(); why != "" {
		return nil, fmt.Errorf("kill %s: %w: %s", d.spec.Name, cluster.ErrOutOfReach, why)
	}
	return d.each(n, func(r *replica) error {
		r.kill()
		return nil
	})
}

// Pause suspends the n oldest ready backends with SIGSTOP.
func (d *deployment) Pause(_ context.Context, n int) ([]string, error) {
	if why := d.WhyUsageUnknown(); why != "" {
		return nil, fmt.Errorf("pause %s: %w: %s", d.spec.Name, cluster.ErrOutOfReach, why)
	}
	return d.each(n, func(r *replica) error { return r.pause(true) })
}

// Resume resumes every paused backend.
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

// each calls do for the n oldest backends that are ready and not paused, and returns their
// identities. Every client knows the oldest backends, so the event has the same meaning for every arm
// and in every round.
func (d *deployment) each(n int, do func(*replica) error) ([]string, error) {
	ready := map[string]bool{}
	now, _ := d.endpoints.Current()
	for _, e := range now.Ready() {
		ready[e.ID] = true
	}
	d.mu.Lock()
	var eligible []*replica
	for _, r := range d.active() {
		if ready[r.id] && !r.isPaused() {
			r.sample()
			eligible = append(eligible, r)
		}
	}
	d.mu.Unlock()
	if len(eligible) < n {
		return nil, fmt.Errorf("%d of %s's backends are ready, %d are needed", len(eligible), d.spec.Name, n)
	}
	var errs []error
	for _, r := range eligible[:n] {
		errs = append(errs, do(r))
	}
	return identities(eligible[:n]), errors.Join(errs...)
}

func identities(replicas []*replica) (ids []string) {
	for _, r := range replicas {
		ids = append(ids, r.id)
	}
	return ids
}

// Rollout replaces every backend in the background, as a Deployment with maxSurge 1 and
// maxUnavailable 0 does. It starts one more backend than wanted; once that is ready, it
// stops an old one and starts the next without waiting for the old one's exit.
func (d *deployment) Rollout(_ context.Context, next *cluster.Program) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rolling {
		return nil, fmt.Errorf("roll out %s: a rollout is in progress", d.spec.Name)
	}
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	if next != nil && d.spec.Program == nil {
		return nil, fmt.Errorf("roll out %s: it runs rpclab's own server, which has one version", d.spec.Name)
	}
	program := cmp.Or(next, d.spec.Program)
	if err := d.cluster.checkProgram(program, d.wanted+1); err != nil {
		return nil, fmt.Errorf("roll out %s: %w", d.spec.Name, err)
	}
	d.spec.Program = program
	if d.spec.NextArgs != nil {
		d.spec.Args = d.spec.NextArgs
	}
	d.rolling = true
	old := d.active()
	hit := identities(old)
	d.tasks.Go(func() {
		err := d.roll(old)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.rolling = false
		if err != nil && d.ctx.Err() == nil {
			d.account.Failures = append(d.account.Failures, fmt.Sprintf("the rollout of %s ended before all backends were replaced: %v", d.spec.Name, err))
		}
	})
	return hit, nil
}

// running are those of some backends that neither stop nor have exited.
func (d *deployment) running(some []*replica) []*replica {
	d.mu.Lock()
	defer d.mu.Unlock()
	active := d.active()
	return slices.DeleteFunc(some, func(r *replica) bool {
		select {
		case <-r.process.Done(): // it may still be active
			return true
		default:
			return !slices.Contains(active, r)
		}
	})
}

// roll replaces the old backends, except those that exited meanwhile and have replacements.
func (d *deployment) roll(old []*replica) error {
	for {
		old = d.running(old)
		if len(old) == 0 {
			return nil
		}
		ready := make(chan error, 1)
		if err := d.add(func(err error) { ready <- err }); err != nil {
			return err
		}
		if err := <-ready; errors.Is(err, errDismissed) { // by Scale
			continue
		} else if err != nil {
			return err
		}
		d.mu.Lock()
		old[0].sample()
		enough := len(d.active()) > d.wanted // false: one exited meanwhile
		d.mu.Unlock()
		if enough {
			d.dismiss(old[0])
		}
	}
}
