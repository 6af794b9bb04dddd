package lab

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// After the callers' clocks were read, a load starts in a delay plus startTrips times as long as the
// slowest reading took. In a cluster, some messages take several times as long as others.
const (
	startDelay      = 50 * time.Millisecond
	blockStartDelay = 5 * time.Millisecond // of a block, of which there are many; also without readings
	startTrips      = 4
)

// callerGroup is the callers of a trial. They share its load and start it together. The trial fails
// when one of them fails.
type callerGroup struct {
	processes []*callerProcess
	ownClient bool // the processes run a client of the user's
	live      *liveTotals
	settling  atomic.Pointer[settling] // receives the snapshots in place of live; nil: no warm-up is in progress
}

// startCallers starts the callers of a trial, each with a sidecar that has these arguments; nil: no
// sidecar. live is called once a second during loads.
func startCallers(ctx context.Context, c cluster.Cluster, t trial, sidecar []string, live func(Live)) (*callerGroup, error) {
	count := t.Config.CallerCount()
	spec := cluster.CallerSpec{Name: t.processName("caller"), Count: count, Args: []string{"caller"}, Sidecar: sidecar}
	if t.Config.Gateway == nil { // else the gateway makes the calls, with the mesh's sidecar
		spec.Mesh, spec.Watches = t.route.Mesh, t.route.WatchesAPI
	}
	spec.Watches = spec.Watches || sidecar != nil
	processes, err := c.StartCallers(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("start %d callers: %w", count, err)
	}
	group := &callerGroup{live: newLiveTotals(count, live), ownClient: t.job.Command != nil}
	for i, p := range processes {
		label := "the caller"
		if count > 1 {
			label = fmt.Sprintf("caller %d of %d (%s)", i+1, count, p.Name())
		}
		group.processes = append(group.processes, newCallerProcess(p, label, func(s measure.Snapshot) { group.received(i, s) }))
	}
	return group, nil
}

// received adds up a snapshot of a caller.
func (c *callerGroup) received(caller int, s measure.Snapshot) {
	if warming := c.settling.Load(); warming != nil {
		warming.add(caller, s)
	} else {
		c.live.add(caller, s)
	}
}

// sidecars are those of all callers.
func (c *callerGroup) sidecars() (all []cluster.Process) {
	for _, p := range c.processes {
		if p.Sidecar != nil {
			all = append(all, p.Sidecar)
		}
	}
	return all
}

// each calls do for all callers at the same time. When one call fails, it cancels the others.
func (c *callerGroup) each(ctx context.Context, do func(context.Context, int, *callerProcess) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range c.processes {
		group.Go(func() error { return p.died(do(ctx, i, p)) })
	}
	return group.Wait()
}

// warmUp sends each caller its assignment and returns when all are warm.
func (c *callerGroup) warmUp(ctx context.Context, assigned func(n int) assignment) error {
	return c.each(ctx, func(ctx context.Context, i int, p *callerProcess) error {
		_, err := openMethod.Call(ctx, p.client, assigned(i))
		return err
	})
}

// warmUpUntilSteady makes a load like whole until it was steady for every caller.
func (c *callerGroup) warmUpUntilSteady(ctx context.Context, whole steadyRequest) (*result.WarmUp, error) {
	s := newSettling(len(c.processes), c.finish)
	c.settling.Store(s)
	defer c.settling.Store(nil)
	err := c.each(ctx, func(ctx context.Context, i int, p *callerProcess) error {
		share := whole
		share.Pace = whole.Pace.Share(i, len(c.processes))
		_, err := steadyMethod.Call(ctx, p.client, share)
		return err
	})
	w := s.warmUp()
	return &w, err
}

// finish ends the load that the callers make, without an error.
func (c *callerGroup) finish() {
	for _, p := range c.processes {
		_ = p.client.Finish() // an error means that it has ended, which its response says
	}
}

// finishGrace is how long callers may take to return what they measured, after an interrupt.
const finishGrace = 3 * time.Second

// loadUntilInterrupt is [callerGroup.load], which an interrupt (the end of ctx) ends early: then it returns what was measured
// until then, and when the load was interrupted.
func (c *callerGroup) loadUntilInterrupt(ctx context.Context, timeout time.Duration, start time.Time, whole loadRequest) (all []measure.Measurement, interrupted time.Time, err error) {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	at := make(chan time.Time, 1)
	unwatch := context.AfterFunc(ctx, func() {
		at <- time.Now()
		c.finish()
		time.AfterFunc(finishGrace, cancel)
	})
	all, err = c.load(patient, start, whole)
	if !unwatch() {
		interrupted = <-at
	}
	return all, interrupted, err
}

// readClocks reads the clocks of all callers, and returns a time, after a delay, at which all can start a load.
func (c *callerGroup) readClocks(ctx context.Context, delay time.Duration) (start time.Time, err error) {
	slowest := make([]time.Duration, len(c.processes))
	err = c.each(ctx, func(ctx context.Context, i int, p *callerProcess) (err error) {
		slowest[i], err = p.readClock(ctx)
		return err
	})
	return time.Now().Add(delay + startTrips*slices.Max(slowest)), err
}

// load makes a load that starts at a time of the lab's clock, and returns the measurement of
// each caller's share, in times of that clock.
func (c *callerGroup) load(ctx context.Context, start time.Time, whole loadRequest) ([]measure.Measurement, error) {
	c.live.reset()
	all := make([]measure.Measurement, len(c.processes))
	err := c.each(ctx, func(ctx context.Context, i int, p *callerProcess) (err error) {
		share := whole
		if n := len(c.processes); n > 1 {
			share.Pace = whole.Pace.Share(i, n)
		}
		all[i], err = p.load(ctx, start, share)
		c.live.end(i)
		return err
	})
	return all, err
}

// records adds the callers' names to their measurements.
func (c *callerGroup) records(parts []measure.Measurement) (all []analysis.CallerRecord) {
	for i, m := range parts {
		all = append(all, analysis.CallerRecord{Name: c.processes[i].Name(), Measurement: m})
	}
	return all
}

// isOneLocal reports whether there is one caller and it runs on this machine.
func (c *callerGroup) isOneLocal() bool { return len(c.processes) == 1 && len(c.localProcesses()) == 1 }

// localProcesses returns the callers that are processes of this machine.
func (c *callerGroup) localProcesses() (all []measure.Watched) {
	for _, p := range c.processes {
		if local, ok := p.Process.(interface{ Pid() int }); ok {
			all = append(all, measure.Watched{Name: p.Name(), PID: local.Pid()})
		}
	}
	return all
}

// clientGrace is how long callers may take to end clients of the user's: longer than a client may take to exit.
const clientGrace = 4 * time.Second

// stop ends the callers. Their sidecars continue. Processes that a client of the user's has started would outlive a caller
// that is killed, so that one ends its client first.
func (c *callerGroup) stop() {
	if c.ownClient {
		for _, p := range c.processes {
			_ = p.Stdin().Close() // it may have ended
		}
		c.await(time.After(clientGrace))
	}
	for _, p := range c.processes {
		p.Kill()
	}
}

// await returns when all callers have exited, or at a signal.
func (c *callerGroup) await(end <-chan time.Time) {
	for _, p := range c.processes {
		select {
		case <-p.Done():
		case <-end:
			return
		}
	}
}

// kill ends every caller and sidecar that still runs.
func (c *callerGroup) kill() {
	for _, p := range c.processes {
		p.kill()
	}
}
