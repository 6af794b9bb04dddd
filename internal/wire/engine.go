package wire

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"rpclab/internal/measure"
)

// Engine makes calls. Its connections stay open between loads, so that one load can warm up for
// the next.
type Engine struct {
	cores     []*core
	cancel    context.CancelFunc
	threads   sync.WaitGroup
	loadMutex sync.Mutex // one load at a time
}

// New starts an engine, which opens its connections at once. Close stops it.
func New(cfg Config, call Call) (*Engine, error) {
	cfg, err := cfg.withDefaults(call)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{cancel: cancel}
	for i := range cfg.Cores {
		core, err := newCore(ctx, cfg, call, i)
		if err != nil {
			for _, core := range e.cores {
				core.poll.close()
			}
			cancel()
			return nil, err
		}
		e.cores = append(e.cores, core)
	}
	for _, core := range e.cores {
		e.threads.Go(core.loop)
	}
	if cfg.Addresses != nil {
		e.SetAddresses(cfg.Addresses)
	}
	return e, nil
}

// SetAddresses sets the addresses to connect to, from any goroutine. The engine connects to new
// addresses. Connections to removed addresses close after their last call.
func (e *Engine) SetAddresses(addrs []string) {
	addrs = slices.Clone(addrs)
	for _, core := range e.cores {
		core.post(func() { core.setAddresses(addrs, "no address to connect to") })
	}
}

// SetResolverError sets why no address is known. Calls fail with it until there is one. It does
// nothing when addresses are known.
func (e *Engine) SetResolverError(why error) {
	for _, core := range e.cores {
		core.post(func() {
			if len(core.addrs) == 0 {
				core.setAddresses(nil, why.Error())
			}
		})
	}
}

func (c *core) setAddresses(addrs []string, why string) {
	c.addrs, c.noAddress = addrs, why
	for _, ch := range c.channels {
		ch.update(addrs)
	}
	for _, ch := range c.userChannels {
		if ch != nil {
			ch.update(addrs)
		}
	}
	if c.pool != nil {
		c.pool.update(addrs)
	}
	for n := c.waitingForAddress.Len(); n > 0; n-- {
		call := c.waitingForAddress.Front()
		call.queued.Remove()
		c.place(call)
	}
}

// Connect waits until every connection is open, or returns why one cannot be opened. Calls can be
// made without Connect: they wait for their connections.
func (e *Engine) Connect(ctx context.Context) error {
	results := make(chan error, len(e.cores))
	for _, core := range e.cores {
		if !core.post(func() { core.connectResult, core.channelsConnected = results, 0; core.checkConnected() }) {
			return ErrClosed
		}
	}
	for range e.cores {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("wire: connect: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Run makes the calls of a pace from the start signal on. It returns when the last call has ended,
// with what was recorded and the time from which calls were due. When ctx is done it makes no more
// calls and cancels those in flight, which count as CANCELLED. Failed calls are in the recorder,
// never in the error.
func (e *Engine) Run(ctx context.Context, p Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	e.loadMutex.Lock()
	defer e.loadMutex.Unlock()
	done := make(chan struct{}, len(e.cores))
	shared := new(loadShared)
	runs := make([]*load, len(e.cores))
	for i, core := range e.cores {
		runs[i] = &load{core: core, pace: p, ctx: ctx, shared: shared, recorder: measure.NewRecorder(core.cfg.LateAfter), done: done}
		runs[i].recorder.CountWindow(p.Window())
	}
	// After the recorders, whose histograms take a millisecond to allocate.
	before, errBefore := measure.CPU(os.Getpid())
	start := signal.Start()
	for _, run := range runs {
		run.start = start.Sub(run.core.epoch)
		if !run.core.post(func() { run.core.load = run; run.begin() }) {
			return nil, start, ErrClosed
		}
	}
	stop := context.AfterFunc(ctx, func() {
		for _, core := range e.cores {
			core.post(func() {}) // each turn checks ctx
		}
	})
	defer stop()
	unwatch := signal.Watch(start, func(tally *measure.Tally) { e.addToTally(runs, tally) })
	for range e.cores {
		<-done
	}
	watched := unwatch()
	after, errAfter := measure.CPU(os.Getpid())
	all := measure.NewRecorder(e.cores[0].cfg.LateAfter)
	if errBefore == nil && errAfter == nil { // otherwise it stays 0: unknown
		all.AddCPU(after - before - watched)
	}
	for _, run := range runs {
		all.Merge(run.recorder)
	}
	return all, start, nil
}

// addToTally adds what the cores have recorded to a tally, each on its own thread.
func (e *Engine) addToTally(runs []*load, tally *measure.Tally) {
	for _, run := range runs {
		counted := make(chan struct{})
		if run.core.post(func() {
			run.recorder.AddTo(tally)
			tally.AddInFlight(uint64(run.core.inFlight.Len()))
			close(counted)
		}) {
			<-counted
		}
	}
}

// Close closes the connections and ends the threads. A load in progress ends as CANCELLED.
func (e *Engine) Close() error {
	for _, core := range e.cores {
		core.post(func() { core.closing = true })
	}
	e.threads.Wait()
	e.cancel()
	return nil
}
