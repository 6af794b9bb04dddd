package kubernetes

import (
	"context"
	"errors"
	"sync"
	"time"

	"rpclab/internal/cluster"
)

// identities are the names of replicas.
func identities(replicas []*replica) (ids []string) {
	for _, backend := range replicas {
		ids = append(ids, backend.name)
	}
	return ids
}

// leavingPause is the time between two measurements of a server that is stopping.
const leavingPause = 200 * time.Millisecond

// sampleLeaving measures a server that stops until its pod is gone. The last measurement is otherwise that of an event, and a
// rollout stops the last server much later.
func (r *replica) sampleLeaving(ctx context.Context) {
	tick := time.NewTicker(leavingPause)
	defer tick.Stop()
	for {
		r.sample()
		select {
		case <-tick.C:
		case <-r.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// usage returns what the server had used when it was last measured. known is false if it was not measured since the last
// reset, although it ran, or could not be measured at last.
func (r *replica) usage() (used cluster.Usage, known bool) {
	if r.spec.Program != nil {
		return r.meter.usage()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used, r.known && r.sampled
}

// hasRun says whether the server may have used something. One of rpclab's own has answered no calls until its pod is
// ready, which takes longer than to attach to its agent.
func (r *replica) hasRun() bool {
	if r.runningFor() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spec.Program != nil || r.process != nil || ready(r.pod)
}

// inParallel calls do for all replicas at once, because each call crosses the cluster, and joins
// the errors.
func inParallel(replicas []*replica, do func(*replica) error) error {
	errs := make([]error, len(replicas))
	var done sync.WaitGroup
	for i, backend := range replicas {
		done.Go(func() { errs[i] = do(backend) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// awaitMeters waits until each replica has its meter. The cluster may be unable to start them, which is no failure of the
// run: the usage is then unknown.
func awaitMeters(ctx context.Context, replicas []*replica) error {
	ctx, cancel := context.WithTimeout(ctx, meterTimeout)
	defer cancel()
	return inParallel(replicas, func(backend *replica) error { return backend.meter.await(ctx) })
}
