package caller

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// CallFunc makes call n (from 0). It returns the identity of the backend that answered, the
// status code and, for a failed call, the message.
type CallFunc func(ctx context.Context, n uint64) (backend, code, message string)

// BatchFunc makes request n, which stands for several calls, and returns how many of them each
// backend answered.
type BatchFunc func(ctx context.Context, n uint64) (answered map[string]uint64, code, message string)

// Run makes the calls of a pace in goroutines and records each against the time it was due. An
// answer more than late after that time counts as late (0: [measure.DefaultLateAfter]). Run returns the
// recorder and the start of the load. ended, if not nil, is called with each finished call,
// from many goroutines at once.
func Run(ctx context.Context, p pace.Pace, signal measure.StartSignal, late time.Duration, do CallFunc, ended func(measure.Call)) (*measure.Recorder, time.Time) {
	one := func(ctx context.Context, n uint64) (c measure.Call) {
		c.Backend, c.Code, c.Message = do(ctx, n)
		return c
	}
	return runSync(ctx, p, signal, late, one, ended)
}

// RunBatches is [Run] for requests that stand for several calls.
func RunBatches(ctx context.Context, p pace.Pace, signal measure.StartSignal, late time.Duration, do BatchFunc) (*measure.Recorder, time.Time) {
	many := func(ctx context.Context, n uint64) (c measure.Call) {
		c.Backends, c.Code, c.Message = do(ctx, n)
		return c
	}
	return runSync(ctx, p, signal, late, many, nil)
}

// RunAsync is [Run] for users that continue as soon as begin returns; end waits for the
// response. The pace therefore does not bound the calls in flight.
func RunAsync(ctx context.Context, p pace.Pace, signal measure.StartSignal, late time.Duration,
	begin func(ctx context.Context, n uint64) (end func() (backend, code, message string))) (*measure.Recorder, time.Time) {
	ahead := func(ctx context.Context, n uint64) func() measure.Call {
		end := begin(ctx, n)
		return func() (c measure.Call) {
			c.Backend, c.Code, c.Message = end()
			return c
		}
	}
	return runGenerator(&generator{ctx: ctx, pace: p, startCall: ahead}, signal, late)
}

func runSync(ctx context.Context, p pace.Pace, signal measure.StartSignal, late time.Duration, do func(context.Context, uint64) measure.Call, ended func(measure.Call)) (*measure.Recorder, time.Time) {
	return runGenerator(&generator{ctx: ctx, pace: p, makeCall: do, ended: ended}, signal, late)
}

func runGenerator(d *generator, signal measure.StartSignal, late time.Duration) (*measure.Recorder, time.Time) {
	d.shards = measure.NewShards(2*runtime.GOMAXPROCS(0), late)
	before, errBefore := measure.CPU(os.Getpid())
	d.start = signal.Start()
	unwatch := signal.Watch(d.start, d.shards.AddTo)
	defer unwatch()
	switch {
	case !d.sleepUntil(0):
	case d.pace.Open():
		d.runOpen()
	default:
		d.runClosed()
	}
	d.pending.Wait()
	watched := unwatch()
	after, errAfter := measure.CPU(os.Getpid())
	merged := d.shards.Merged()
	if errBefore == nil && errAfter == nil { // otherwise CPU time stays 0, which means unknown
		merged.AddCPU(after - before - watched)
	}
	return merged, d.start
}

type generator struct {
	ctx       context.Context
	pace      pace.Pace
	makeCall  func(context.Context, uint64) measure.Call              // returns all but the times
	startCall func(context.Context, uint64) (end func() measure.Call) // asynchronous alternative to makeCall; nil: makeCall is used
	ended     func(measure.Call)
	shards    *measure.Shards
	start     time.Time
	pending   sync.WaitGroup // asynchronous calls whose response is outstanding
}

// runOpen sends each call when it is due, whether or not earlier calls have ended.
func (d *generator) runOpen() {
	var calls sync.WaitGroup
	defer calls.Wait()
	room := make(chan struct{}, d.pace.InFlight())
	var before time.Duration
	for n := uint64(0); ; n++ {
		due, more := d.pace.Next(n, before)
		if !more || !d.sleepUntil(due) {
			return
		}
		before = due
		select {
		case room <- struct{}{}:
			calls.Go(func() {
				d.call(d.ctx, n, n, due)
				<-room
			})
		default:
			d.shards.Drop(n, due)
		}
	}
}

// runClosed has each user make one call after the other.
func (d *generator) runClosed() {
	var next atomic.Uint64
	var users sync.WaitGroup
	for user := range uint64(d.pace.InFlight()) {
		users.Go(func() {
			ctx, answered := withUser(d.ctx, int(user)), d.pace.First(int(user))
			for {
				n := next.Add(1) - 1
				due, more := d.pace.Next(n, answered)
				if !more || !d.waitUntil(due) {
					return
				}
				answered = d.call(ctx, user, n, due)
			}
		})
	}
	users.Wait()
}

// call makes a call and returns when its user may continue.
func (d *generator) call(ctx context.Context, key, n uint64, due time.Duration) (done time.Duration) {
	sent := time.Since(d.start)
	if d.startCall == nil {
		return d.record(key, due, sent, d.makeCall(ctx, n))
	}
	if !d.pace.Open() {
		due = sent // the user's think time is a minimum, so the call cannot be late
	}
	end := d.startCall(ctx, n)
	d.pending.Go(func() { d.record(key, due, sent, end()) })
	return time.Since(d.start)
}

func (d *generator) record(key uint64, due, sent time.Duration, call measure.Call) (done time.Duration) {
	done = time.Since(d.start)
	call.Due, call.Sent, call.Done = due, sent, done
	d.shards.Record(key, call)
	if d.ended != nil {
		d.ended(call)
	}
	return done
}

// sleepUntil returns at a time after the start, or false if ctx ended before. It is exact to
// about 50 µs but occupies a thread for the last 2 ms: only the goroutine that schedules an
// open loop may use it, not thousands of users.
func (d *generator) sleepUntil(due time.Duration) bool {
	if !d.waitUntil(due - threadSleepMargin) {
		return false
	}
	for d.ctx.Err() == nil {
		wait := due - time.Since(d.start)
		if wait <= 0 {
			return true
		}
		threadSleep(wait)
	}
	return false
}

// waitUntil does the same with the runtime's timers: up to a millisecond late.
func (d *generator) waitUntil(due time.Duration) bool {
	wait := due - time.Since(d.start)
	if wait <= 0 {
		return d.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.ctx.Done():
		return false
	}
}
