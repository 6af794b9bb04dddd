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

// Do makes call n (from 0) and says what became of it: the identity of the backend
// that answered, the code, and for a failed call the message.
type Do func(ctx context.Context, n uint64) (backend, code, message string)

// DoMany makes call n, which stands for several, and says how many of them each backend
// answered.
type DoMany func(ctx context.Context, n uint64) (answered map[string]uint64, code, message string)

// Drive makes the calls of a pace with do, at its cue, in goroutines, and records them against
// the moment they were due, and as late when that is longer ago than late (0:
// [measure.Late]). It returns the recorder and the moment the load began.
// ended is told of each call too, by many goroutines at once; nil: nobody asks.
func Drive(ctx context.Context, p pace.Pace, cue measure.Cue, late time.Duration, do Do, ended func(measure.Call)) (*measure.Recorder, time.Time) {
	one := func(ctx context.Context, n uint64) (c measure.Call) {
		c.Backend, c.Code, c.Message = do(ctx, n)
		return c
	}
	return drive(ctx, p, cue, late, one, ended)
}

// DriveMany is [Drive] for calls that stand for several.
func DriveMany(ctx context.Context, p pace.Pace, cue measure.Cue, late time.Duration, do DoMany) (*measure.Recorder, time.Time) {
	many := func(ctx context.Context, n uint64) (c measure.Call) {
		c.Answered, c.Code, c.Message = do(ctx, n)
		return c
	}
	return drive(ctx, p, cue, late, many, nil)
}

// DriveAhead is [Drive] for users who go on when begin returns, with what waits for the answer
// of the call: how many are under way is not the pace's but the callee's to say.
func DriveAhead(ctx context.Context, p pace.Pace, cue measure.Cue, late time.Duration,
	begin func(ctx context.Context, n uint64) (end func() (backend, code, message string))) (*measure.Recorder, time.Time) {
	ahead := func(ctx context.Context, n uint64) func() measure.Call {
		end := begin(ctx, n)
		return func() (c measure.Call) {
			c.Backend, c.Code, c.Message = end()
			return c
		}
	}
	return run(&driver{ctx: ctx, pace: p, ahead: ahead}, cue, late)
}

func drive(ctx context.Context, p pace.Pace, cue measure.Cue, late time.Duration, do func(context.Context, uint64) measure.Call, ended func(measure.Call)) (*measure.Recorder, time.Time) {
	return run(&driver{ctx: ctx, pace: p, do: do, ended: ended}, cue, late)
}

func run(d *driver, cue measure.Cue, late time.Duration) (*measure.Recorder, time.Time) {
	d.shards = measure.NewShards(2*runtime.GOMAXPROCS(0), late)
	before, errBefore := measure.CPU(os.Getpid())
	d.start = cue.Start()
	unwatch := cue.Watch(d.start, d.shards.Count)
	defer unwatch()
	switch {
	case !d.sleepUntil(0):
	case d.pace.Open():
		d.open()
	default:
		d.closed()
	}
	d.behind.Wait()
	watched := unwatch()
	after, errAfter := measure.CPU(os.Getpid())
	merged := d.shards.Merged()
	if errBefore == nil && errAfter == nil { // else it stays 0: unknown
		merged.Spend(after - before - watched)
	}
	return merged, d.start
}

type driver struct {
	ctx    context.Context
	pace   pace.Pace
	do     func(context.Context, uint64) measure.Call              // all but its times
	ahead  func(context.Context, uint64) (end func() measure.Call) // the same in two steps; nil: in one
	ended  func(measure.Call)
	shards *measure.Shards
	start  time.Time
	behind sync.WaitGroup // calls whose users have gone on
}

// open sends each call when it is due, whatever became of those before.
func (d *driver) open() {
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

// closed lets each user make one call after the other.
func (d *driver) closed() {
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

// call makes a call and returns when its user may go on.
func (d *driver) call(ctx context.Context, key, n uint64, due time.Duration) (done time.Duration) {
	sent := time.Since(d.start)
	if d.ahead == nil {
		return d.record(key, due, sent, d.do(ctx, n))
	}
	if !d.pace.Open() {
		due = sent // a pause of a user who waits for nothing is at least so long, and nobody is late
	}
	end := d.ahead(ctx, n)
	d.behind.Go(func() { d.record(key, due, sent, end()) })
	return time.Since(d.start)
}

func (d *driver) record(key uint64, due, sent time.Duration, call measure.Call) (done time.Duration) {
	done = time.Since(d.start)
	call.Due, call.Sent, call.Done = due, sent, done
	d.shards.Record(key, call)
	if d.ended != nil {
		d.ended(call)
	}
	return done
}

// sleepUntil returns at a time after the start, or false when the run is over before.
// It is exact to some 50 µs, but holds a thread for the last moments: one goroutine
// may use it, not thousands of users.
func (d *driver) sleepUntil(due time.Duration) bool {
	if !d.waitUntil(due - fine) {
		return false
	}
	for d.ctx.Err() == nil {
		wait := due - time.Since(d.start)
		if wait <= 0 {
			return true
		}
		nap(wait)
	}
	return false
}

// waitUntil is the same with the runtime's timers: late by up to a millisecond.
func (d *driver) waitUntil(due time.Duration) bool {
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
