package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/route"
)

// soon is how long before a load the callers are told of it, besides the way to them; that
// through a cluster takes several times as long now and then, so ways of it are allowed.
const (
	soon = 50 * time.Millisecond
	ways = 4
)

// crew is the callers of a trial, who share its load: each makes a share of it, they
// begin together, and what they measured is merged. Where one is lost, the trial is.
type crew struct {
	workers []*worker
	live    *watch
}

// startCrew starts the callers of a trial, with the sidecars that they need.
func (l *lab) startCrew(ctx context.Context, config experiment.Config) (*crew, error) {
	way, err := route.Lookup(config.Route)
	if err != nil {
		return nil, err
	}
	count := config.CallerCount()
	shape := cluster.Crew{Name: "caller", Count: count, Args: []string{"caller"}, Sidecar: l.sidecar(way, config)}
	if config.Gateway == nil { // else the gateway has one, which makes the calls
		shape.Mesh, shape.Watches = way.Mesh, way.Watches
	}
	shape.Watches = shape.Watches || shape.Sidecar != nil
	members, err := l.Cluster.Run(ctx, shape)
	if err != nil {
		return nil, fmt.Errorf("start %d callers: %w", count, err)
	}
	c := &crew{live: newWatch(count, l.live)}
	for i, m := range members {
		who := "the caller"
		if count > 1 {
			who = fmt.Sprintf("caller %d of %d (%s)", i+1, count, m.Name())
		}
		c.workers = append(c.workers, newWorker(m, who, func(s measure.Snapshot) { c.live.add(i, s) }))
	}
	return c, nil
}

// sidecars are those of the callers; none: they have none.
func (c *crew) sidecars() (all []cluster.Process) {
	for _, w := range c.workers {
		if w.Sidecar != nil {
			all = append(all, w.Sidecar)
		}
	}
	return all
}

// all does something with every worker at the same time, and gives up when it fails with
// one.
func (c *crew) all(ctx context.Context, do func(context.Context, int, *worker) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range c.workers {
		group.Go(func() error { return do(ctx, i, w) })
	}
	return group.Wait()
}

// ready gives each its assignment and returns when all are warm.
func (c *crew) ready(ctx context.Context, assigned func(n int) assignment) error {
	return c.all(ctx, func(ctx context.Context, i int, w *worker) error {
		if err := w.tell(assigned(i)); err != nil {
			return err
		}
		return w.awaitReady(ctx)
	})
}

// begin orders a load, each its share, and returns the moment at which all begin.
func (c *crew) begin(ctx context.Context, whole order) (time.Time, error) {
	var mu sync.Mutex
	var far time.Duration
	if err := c.all(ctx, func(ctx context.Context, _ int, w *worker) error {
		trip, err := w.readClock(ctx)
		mu.Lock()
		defer mu.Unlock()
		far = max(far, trip)
		return err
	}); err != nil {
		return time.Time{}, err
	}
	c.live.reset()
	start := time.Now().Add(soon + ways*far)
	return start, c.all(ctx, func(_ context.Context, i int, w *worker) error {
		share := whole
		if n := len(c.workers); n > 1 {
			share.Pace = whole.Pace.Share(i, n)
		}
		w.began, share.At = start, start.Add(w.ahead)
		return w.tell(share)
	})
}

// measurements are what each measured of its share, in times of the lab's clock.
func (c *crew) measurements(ctx context.Context) ([]measure.Measurement, error) {
	all := make([]measure.Measurement, len(c.workers))
	err := c.all(ctx, func(ctx context.Context, i int, w *worker) (err error) {
		all[i], err = w.measurement(ctx)
		c.live.done(i)
		return err
	})
	for i, w := range c.workers {
		all[i].Started = all[i].Started.Add(-w.ahead)
		all[i].Told = slices.Clone(all[i].Told)
		for j := range all[i].Told {
			all[i].Told[j].At = all[i].Told[j].At.Add(-w.ahead)
		}
	}
	return all, err
}

// each says what every caller measured of a load that was to begin at start; nil: there is
// one, whose is the trial's.
func (c *crew) each(start time.Time, parts []measure.Measurement) (all []result.Caller, err error) {
	if len(parts) == 1 {
		return nil, nil
	}
	for i, m := range parts {
		one := result.Caller{
			Name: c.workers[i].Name(), StartMS: ms(m.Started.Sub(start) + m.Began), Calls: m.Calls, Errors: m.Errors, Backends: m.Backends,
			Resources: usagePerCall(usageOf(m), m.Calls),
		}
		if m.Elapsed > 0 {
			one.Rate = float64(m.Calls) / m.Elapsed.Seconds()
		}
		if one.Latency, err = histogram(m.Latency); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// stop ends the calls: what stands beside the callers stays.
func (c *crew) stop() {
	for _, w := range c.workers {
		w.Kill()
	}
}

// kill ends every caller that is left.
func (c *crew) kill() {
	for _, w := range c.workers {
		w.kill()
	}
}
