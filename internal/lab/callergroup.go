package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// A load starts startDelay after every caller has been told, and as long again as startTrips
// of the slowest messages took: through a cluster, one takes several times as long now and then.
const (
	startDelay = 50 * time.Millisecond
	startTrips = 4
)

// callerGroup is the callers of a trial, who share its load: each makes its share, they start
// together, and their measurements are merged. The trial fails with any one of them.
type callerGroup struct {
	processes []*callerProcess
	live      *liveTotals
}

// startCallers starts the callers of a trial, each with a sidecar of these arguments; nil: it
// needs none. live is called once a second during loads.
func startCallers(ctx context.Context, c cluster.Cluster, t trial, sidecar []string, live func(Live)) (*callerGroup, error) {
	count := t.Config.CallerCount()
	spec := cluster.CallerSpec{Name: "caller", Count: count, Args: []string{"caller"}, Sidecar: sidecar}
	if t.Config.Gateway == nil { // else the gateway makes the calls, and has the mesh's proxy
		spec.Mesh, spec.Watches = t.route.Mesh, t.route.WatchesAPI
	}
	spec.Watches = spec.Watches || sidecar != nil
	processes, err := c.StartCallers(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("start %d callers: %w", count, err)
	}
	group := &callerGroup{live: newLiveTotals(count, live)}
	for i, p := range processes {
		label := "the caller"
		if count > 1 {
			label = fmt.Sprintf("caller %d of %d (%s)", i+1, count, p.Name())
		}
		group.processes = append(group.processes, newCallerProcess(p, label, func(s measure.Snapshot) { group.live.add(i, s) }))
	}
	return group, nil
}

// sidecars are those of all callers; none: they have none.
func (c *callerGroup) sidecars() (all []cluster.Process) {
	for _, w := range c.processes {
		if w.Sidecar != nil {
			all = append(all, w.Sidecar)
		}
	}
	return all
}

// each calls do for every caller at once, and cancels the others when one fails.
func (c *callerGroup) each(ctx context.Context, do func(context.Context, int, *callerProcess) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range c.processes {
		group.Go(func() error { return do(ctx, i, w) })
	}
	return group.Wait()
}

// warmUp sends each its assignment and returns when all are warm.
func (c *callerGroup) warmUp(ctx context.Context, assigned func(n int) assignment) error {
	return c.each(ctx, func(ctx context.Context, i int, w *callerProcess) error {
		if err := w.send(assigned(i)); err != nil {
			return err
		}
		return w.awaitReady(ctx)
	})
}

// start orders a load, each its share, and returns the time at which all start.
func (c *callerGroup) start(ctx context.Context, whole loadOrder) (time.Time, error) {
	var mu sync.Mutex
	var slowest time.Duration
	if err := c.each(ctx, func(ctx context.Context, _ int, w *callerProcess) error {
		trip, err := w.readClock(ctx)
		mu.Lock()
		defer mu.Unlock()
		slowest = max(slowest, trip)
		return err
	}); err != nil {
		return time.Time{}, err
	}
	c.live.reset()
	start := time.Now().Add(startDelay + startTrips*slowest)
	return start, c.each(ctx, func(_ context.Context, i int, w *callerProcess) error {
		share := whole
		if n := len(c.processes); n > 1 {
			share.Pace = whole.Pace.Share(i, n)
		}
		w.began, share.At = start, start.Add(w.clockOffset)
		return w.send(share)
	})
}

// measurements are those of each share, in times of the lab's clock.
func (c *callerGroup) measurements(ctx context.Context) ([]measure.Measurement, error) {
	all := make([]measure.Measurement, len(c.processes))
	err := c.each(ctx, func(ctx context.Context, i int, w *callerProcess) (err error) {
		all[i], err = w.measurement(ctx)
		c.live.done(i)
		return err
	})
	for i, w := range c.processes {
		all[i].Started = all[i].Started.Add(-w.clockOffset)
		all[i].ResolverUpdates = slices.Clone(all[i].ResolverUpdates)
		for j := range all[i].ResolverUpdates {
			all[i].ResolverUpdates[j].At = all[i].ResolverUpdates[j].At.Add(-w.clockOffset)
		}
	}
	return all, err
}

// records name what each caller measured.
func (c *callerGroup) records(parts []measure.Measurement) (all []analysis.CallerRecord) {
	for i, m := range parts {
		all = append(all, analysis.CallerRecord{Name: c.processes[i].Name(), Measurement: m})
	}
	return all
}

// stop ends the calls. Sidecars stay.
func (c *callerGroup) stop() {
	for _, w := range c.processes {
		w.Kill()
	}
}

// kill ends every caller and sidecar that is left.
func (c *callerGroup) kill() {
	for _, w := range c.processes {
		w.kill()
	}
}
