package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// Engine makes calls. Its connections survive between loads, so that one load can
// warm up for the next.
type Engine struct {
	cores  []*core
	cancel context.CancelFunc
	ended  sync.WaitGroup
	load   sync.Mutex // one at a time
}

// Stats are what a load used.
type Stats struct {
	Connections int // opened since the engine began
}

// ErrClosed is the error of an engine that was closed.
var ErrClosed = errors.New("wire: the engine is closed")

// New starts the threads of an engine, which opens its connections at once. Close
// ends them.
func New(cfg Config, call Call) (*Engine, error) {
	cfg, err := cfg.withDefaults(call)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{cancel: cancel}
	for i := range cfg.Cores {
		c, err := newCore(ctx, cfg, call, i)
		if err != nil {
			for _, c := range e.cores {
				c.poll.close()
			}
			cancel()
			return nil, err
		}
		e.cores = append(e.cores, c)
	}
	for _, c := range e.cores {
		e.ended.Go(c.loop)
	}
	if cfg.Addresses != nil {
		e.SetAddresses(cfg.Addresses)
	}
	return e, nil
}

// SetAddresses changes where connections go, from any goroutine. New addresses get
// connections; connections to those that are gone finish what they have.
func (e *Engine) SetAddresses(addrs []string) {
	addrs = slices.Clone(addrs)
	for _, c := range e.cores {
		c.post(func() { c.setAddresses(addrs, "no address to connect to") })
	}
}

// Unresolved says why no address is known. Calls fail by it while that is so; it
// changes nothing once there are addresses.
func (e *Engine) Unresolved(why error) {
	for _, c := range e.cores {
		c.post(func() {
			if len(c.addrs) == 0 {
				c.setAddresses(nil, why.Error())
			}
		})
	}
}

func (c *core) setAddresses(addrs []string, nowhere string) {
	c.addrs, c.nowhere = addrs, nowhere
	for _, ch := range c.channels {
		ch.update(addrs)
	}
	for _, ch := range c.users {
		if ch != nil {
			ch.update(addrs)
		}
	}
	if c.pool != nil {
		c.pool.update(addrs)
	}
	for n := c.unplaced.Len(); n > 0; n-- {
		k := c.unplaced.First()
		k.queued.Leave()
		c.place(k)
	}
}

// Connect waits until every connection stands, or says why one cannot be opened.
// Calls may be made without it; they wait for their connections.
func (e *Engine) Connect(ctx context.Context) error {
	told := make(chan error, len(e.cores))
	for _, c := range e.cores {
		if !c.post(func() { c.waiter, c.stood = told, 0; c.connected() }) {
			return ErrClosed
		}
	}
	for range e.cores {
		select {
		case err := <-told:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("wire: connect: %w", context.Cause(ctx))
		}
	}
	return nil
}

// connected tells who waits for the connections, once there is something to tell. It
// is asked after each of many thousands, so it goes on where it stopped, and looks at
// all of them once more at the end, since one may be lost meanwhile.
func (c *core) connected() {
	if c.waiter == nil {
		return
	}
	if c.pool != nil {
		if stands, why := c.pool.stands(); why != "" {
			c.tell(errors.New("wire: " + why))
		} else if stands {
			c.tell(nil)
		}
		return
	}
	for whole := c.stood == 0; ; c.stood, whole = 0, true {
		for ; c.stood < len(c.channels); c.stood++ {
			if stands, why := c.channels[c.stood].stands(); why != "" {
				c.tell(errors.New("wire: " + why))
				return
			} else if !stands {
				return
			}
		}
		if whole {
			c.tell(nil)
			return
		}
	}
}

func (c *core) tell(err error) {
	c.waiter <- err
	c.waiter = nil
}

// Run makes the calls of a pace, at its cue, and returns when the last has ended, with what was
// recorded and the moment from which they were due. When ctx ends it makes no more
// calls and gives up those under way, which count as CANCELLED. What calls did is in
// the recorder, never in the error.
func (e *Engine) Run(ctx context.Context, p Pace, cue measure.Cue) (*measure.Recorder, time.Time, Stats, error) {
	e.load.Lock()
	defer e.load.Unlock()
	done := make(chan struct{}, len(e.cores))
	shared := new(shared)
	runs := make([]*run, len(e.cores))
	for i, c := range e.cores {
		runs[i] = &run{core: c, pace: p, ctx: ctx, shared: shared, recorder: measure.NewRecorder(c.cfg.Late), done: done}
	}
	// Only now, since histograms take a millisecond to make room for.
	before, errBefore := measure.CPU(os.Getpid())
	start := cue.Start()
	for _, r := range runs {
		r.start = start.Sub(r.core.epoch)
		if !r.core.post(func() { r.core.run = r; r.begin() }) {
			return nil, start, Stats{}, ErrClosed
		}
	}
	stop := context.AfterFunc(ctx, func() {
		for _, c := range e.cores {
			c.post(func() {}) // the turn looks at ctx
		}
	})
	defer stop()
	unwatch := cue.Watch(start, func(t *measure.Tally) { e.count(runs, t) })
	for range e.cores {
		<-done
	}
	watched := unwatch()
	after, errAfter := measure.CPU(os.Getpid())
	all, stats := measure.NewRecorder(e.cores[0].cfg.Late), Stats{}
	if errBefore == nil && errAfter == nil { // else it stays 0: unknown
		all.Spend(after - before - watched)
	}
	for _, r := range runs {
		all.Merge(r.recorder)
		stats.Connections += r.connections
	}
	return all, start, stats, nil
}

// count adds up what the cores have recorded, each on its own thread.
func (e *Engine) count(runs []*run, t *measure.Tally) {
	for _, r := range runs {
		counted := make(chan struct{})
		if r.core.post(func() { r.recorder.Count(t); close(counted) }) {
			<-counted
		}
	}
}

// Close ends the connections and the threads. A load under way ends as CANCELLED.
func (e *Engine) Close() error {
	for _, c := range e.cores {
		c.post(func() { c.closing = true })
	}
	e.ended.Wait()
	e.cancel()
	return nil
}

// finish is the end of the thread.
func (c *core) finish() {
	c.inbox.close()
	if c.run != nil {
		c.run.cancel()
		c.run.turn()
	}
	for _, l := range slices.Clone(c.links) {
		if l != nil {
			l.draining = true // its owner need not replace it
			l.close(h2.Status{Code: h2.Cancelled, Message: ErrClosed.Error()})
		}
	}
	if c.waiter != nil {
		c.tell(ErrClosed)
	}
	c.workers.Wait()
	c.poll.close()
}
