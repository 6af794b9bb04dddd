package caller

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// CallFunc makes call n (from 0).
type CallFunc func(ctx context.Context, n uint64) Outcome

// Outcome is how a call ended.
type Outcome struct {
	Backend string // identity of the backend that answered; "": none did
	Code    string // [measure.OK] or an error
	Message string // of the error
	// Backends and Steps are of a flow, as in [measure.Call]. Steps end at times since the start of the flow.
	Backends map[string]uint64
	Steps    []measure.Step
	// Wait is how long the client kept the call, on an open connection, before it sent the call.
	Wait time.Duration
}

// longWait is the shortest wait that counts as one. Clients need some microseconds to send a call, and on a
// busy machine some hundred.
const longWait = time.Millisecond

// BatchFunc makes request n, which makes several calls, and returns how many of them each
// backend answered.
type BatchFunc func(ctx context.Context, n uint64) (answered map[string]uint64, code, message string)

// Run makes the calls of a pace in goroutines and records each call against its due time. A response
// that follows the due time by more than late counts as late (0: [measure.DefaultLateAfter]). Run
// returns the recorder and the start of the load.
func Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration, do CallFunc) (*measure.Recorder, time.Time) {
	makeCall := func(ctx context.Context, n uint64) measure.Call {
		return do(ctx, n).call()
	}
	return (&generator{ctx: ctx, pace: plan, makeCall: makeCall}).run(signal, late)
}

// RunNamed is [Run] for a load of several calls. name returns the name of call n, or of the first call of flow n.
func RunNamed(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration, name func(n uint64) string, do CallFunc) (*measure.Recorder, time.Time) {
	makeCall := func(ctx context.Context, n uint64) measure.Call {
		call := do(ctx, n).call()
		if call.Steps == nil {
			call.Name = name(n)
		}
		return call
	}
	return (&generator{ctx: ctx, pace: plan, makeCall: makeCall, nameOf: name}).run(signal, late)
}

// RunBatches is [Run] for requests that make several calls.
func RunBatches(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration, do BatchFunc) (*measure.Recorder, time.Time) {
	makeCall := func(ctx context.Context, n uint64) (call measure.Call) {
		call.Backends, call.Code, call.Message = do(ctx, n)
		return call
	}
	return (&generator{ctx: ctx, pace: plan, makeCall: makeCall}).run(signal, late)
}

// TimedFunc makes call n and returns when the client sent it and had the response.
type TimedFunc func(ctx context.Context, n uint64) (o Outcome, sent, done time.Time)

// RunTimed is [Run] for clients in other processes, which measure their calls themselves. Their CPU time is not in
// the recorder.
func RunTimed(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration, do TimedFunc) (*measure.Recorder, time.Time) {
	g := &generator{ctx: ctx, pace: plan, timed: true}
	g.makeCall = func(ctx context.Context, n uint64) measure.Call {
		o, sent, done := do(ctx, n)
		call := o.call()
		call.Sent, call.Done = sent.Sub(g.start), done.Sub(g.start)
		return call
	}
	return g.run(signal, late)
}

// RunAsync is [Run] for users that continue as soon as begin returns; end waits for the
// response. The pace therefore does not bound the calls in flight.
func RunAsync(ctx context.Context, plan pace.Pace, signal measure.StartSignal, late time.Duration,
	begin func(ctx context.Context, n uint64) (end func() Outcome)) (*measure.Recorder, time.Time) {
	startCall := func(ctx context.Context, n uint64) func() measure.Call {
		end := begin(ctx, n)
		return func() measure.Call { return end().call() }
	}
	return (&generator{ctx: ctx, pace: plan, startCall: startCall}).run(signal, late)
}

// call returns the outcome as a call whose Sent counts from when the client got it.
func (o Outcome) call() measure.Call {
	return measure.Call{Backend: o.Backend, Backends: o.Backends, Steps: o.Steps, Code: o.Code, Message: o.Message, Sent: o.Wait, Waited: o.Wait >= longWait}
}

// CallFlow makes calls one after the other, as the user of a flow does, until one of them fails. do makes a call, by its
// index in names.
func CallFlow(names []string, do func(call int) Outcome) Outcome {
	start := time.Now()
	flow := Outcome{Code: measure.OK, Backends: map[string]uint64{}}
	for i, name := range names {
		o := do(i)
		flow.Steps = append(flow.Steps, measure.Step{Name: name, Code: o.Code, Done: time.Since(start)})
		if i == 0 {
			flow.Wait = o.Wait
		}
		if o.Code != measure.OK {
			flow.Code, flow.Message = o.Code, fmt.Sprintf("step %s: %s", name, o.Message)
			return flow
		}
		flow.Backends[o.Backend]++
	}
	return flow
}

func (g *generator) run(signal measure.StartSignal, late time.Duration) (*measure.Recorder, time.Time) {
	g.shards = measure.NewShards(2*runtime.GOMAXPROCS(0), late)
	g.shards.CountWindow(g.pace.Window())
	before, errBefore := measure.CPU(os.Getpid())
	g.start = signal.Start()
	unwatch := signal.Watch(g.start, func(tally *measure.Tally) {
		ended, begun := g.ended.Load(), g.begun.Load() // in this order: a call begins before it ends
		g.shards.AddTo(tally)
		tally.AddInFlight(begun - min(ended, begun))
	})
	defer unwatch()
	switch {
	case !g.sleepUntil(0):
	case g.pace.Open():
		g.runOpen()
	default:
		g.runClosed()
	}
	g.pending.Wait()
	watched := unwatch()
	after, errAfter := measure.CPU(os.Getpid())
	merged := g.shards.Merged()
	if errBefore == nil && errAfter == nil && !g.timed { // otherwise CPU time stays 0, which means unknown
		merged.AddCPU(after - before - watched)
	}
	return merged, g.start
}

type generator struct {
	ctx       context.Context
	pace      pace.Pace
	makeCall  func(context.Context, uint64) measure.Call              // returns all but Due and Done; Sent counts from its start
	startCall func(context.Context, uint64) (end func() measure.Call) // asynchronous alternative to makeCall; nil: makeCall is used
	timed     bool                                                    // makeCall returns Sent and Done since the start
	nameOf    func(n uint64) string                                   // of calls that are dropped; nil: they have no names
	shards    *measure.Shards
	start     time.Time
	// begun and ended count calls.
	begun, ended atomic.Uint64
	pending      sync.WaitGroup // asynchronous calls whose response is outstanding
}

// runOpen sends each call when it is due, whether or not earlier calls have ended.
func (g *generator) runOpen() {
	var calls sync.WaitGroup
	defer calls.Wait()
	room := make(chan struct{}, g.pace.InFlight())
	var before time.Duration
	for n := uint64(0); ; n++ {
		due, more := g.pace.Next(n, before)
		if !more || !g.sleepUntil(due) {
			return
		}
		before = due
		select {
		case room <- struct{}{}:
			calls.Go(func() {
				g.call(g.ctx, n, n, due)
				<-room
			})
		default:
			name := ""
			if g.nameOf != nil {
				name = g.nameOf(n)
			}
			g.shards.Drop(n, due, name)
		}
	}
}

// runClosed has each user make one call after the other.
func (g *generator) runClosed() {
	var next atomic.Uint64
	var users sync.WaitGroup
	for user := range uint64(g.pace.InFlight()) {
		users.Go(func() {
			ctx, answered := withUser(g.ctx, int(user)), g.pace.First(int(user))
			for {
				n := next.Add(1) - 1
				due, more := g.pace.Next(n, answered)
				if !more || !g.waitUntil(due) {
					return
				}
				answered = g.call(ctx, user, n, due)
			}
		})
	}
	users.Wait()
}

// call makes a call and returns when its user may continue.
func (g *generator) call(ctx context.Context, key, n uint64, due time.Duration) (done time.Duration) {
	started := time.Since(g.start)
	g.begun.Add(1)
	if g.startCall == nil {
		return g.record(key, due, started, g.makeCall(ctx, n))
	}
	if !g.pace.Open() {
		due = started // the user's think time is a minimum, so the call cannot be late
	}
	end := g.startCall(ctx, n)
	g.pending.Go(func() { g.record(key, due, started, end()) })
	return time.Since(g.start)
}

func (g *generator) record(key uint64, due, started time.Duration, call measure.Call) (done time.Duration) {
	done = time.Since(g.start)
	if call.Due = due; g.timed {
		call.Sent = max(call.Sent, due) // the clocks of two processes may differ by a little
		call.Done = max(call.Done, call.Sent)
	} else {
		call.Sent, call.Done = started+call.Sent, done
	}
	for i := range call.Steps {
		call.Steps[i].Done += started
	}
	g.shards.Record(key, call)
	g.ended.Add(1)
	return done
}

// sleepUntil returns true at a time since the start, or false as soon as ctx ends. It is exact to
// about 50 µs but occupies a thread for the last 2 ms. Only the goroutine that schedules an open
// loop may use it, not thousands of users.
func (g *generator) sleepUntil(due time.Duration) bool {
	if !g.waitUntil(due - threadSleepMargin) {
		return false
	}
	for g.ctx.Err() == nil {
		wait := due - time.Since(g.start)
		if wait <= 0 {
			return true
		}
		threadSleep(wait)
	}
	return false
}

// waitUntil does the same with the runtime's timers, which are up to a millisecond late.
func (g *generator) waitUntil(due time.Duration) bool {
	wait := due - time.Since(g.start)
	if wait <= 0 {
		return g.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.ctx.Done():
		return false
	}
}
