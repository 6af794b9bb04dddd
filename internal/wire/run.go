package wire

import (
	"context"
	"sync/atomic"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// run is one core's part of one load.
type run struct {
	core        *core
	pace        Pace
	start       time.Duration // of the load, since the core's epoch
	ctx         context.Context
	shared      *shared
	recorder    *measure.Recorder
	done        chan<- struct{}
	over        bool // no more calls are to be made
	cancelled   bool
	connections int

	// An open pace: call n, the next of this core, is due at.
	n      uint64
	due    time.Duration
	before time.Duration

	// A closed pace: users whose turn has come, and those who think.
	idle  idlers
	think thinkers
	users int // who go on
}

// shared is what the cores of one load have in common.
type shared struct {
	next   atomic.Uint64 // number of the next call of a closed pace
	flying atomic.Int64  // calls under way of an open one
}

const (
	startBatch = 32 // calls between two looks at the clock
	// longestStart is how long a turn starts calls before answers are read again, so
	// that one which has come does not wait for all calls that are due.
	longestStart = time.Millisecond
)

// begin readies the load.
func (r *run) begin() {
	c := r.core
	r.start = max(c.now, r.start)
	if r.pace.Open() {
		r.n = ^uint64(0) // so that the first is number 0
		r.advance()
		return
	}
	for u := c.index; u < r.pace.InFlight(); u += c.cfg.Cores {
		r.idle.push(user{u, r.pace.First(u)})
		r.users++
	}
}

// turn starts every call that is due.
func (r *run) turn() {
	switch {
	case r.ctx.Err() != nil && !r.cancelled:
		r.cancel()
	case r.over:
	case r.pace.Open():
		r.open()
	default:
		r.closed()
	}
	if r.over && r.core.underway.Len() == 0 {
		r.core.run = nil
		r.connections = r.core.stats.Connections
		r.done <- struct{}{}
	}
}

// cancel makes no more calls and gives up those under way.
func (r *run) cancel() {
	r.over, r.cancelled = true, true
	for k := r.core.underway.First(); k != nil; k = r.core.underway.First() {
		r.core.giveUp(k, h2.Status{Code: h2.Cancelled, Message: "the load was interrupted"})
	}
}

// advance finds the next call that is this core's to make.
func (r *run) advance() {
	for more := true; ; {
		r.n++
		if r.due, more = r.pace.Next(r.n, r.before); !more {
			r.over = true
			return
		}
		r.before = r.due
		if r.n%uint64(r.core.cfg.Cores) == uint64(r.core.index) {
			return
		}
	}
}

func (r *run) open() {
	c := r.core
	c.now = time.Since(c.epoch)
	for i, end := 1, c.now+longestStart; !r.over && r.start+r.due <= c.now && c.now < end; i++ {
		if r.shared.flying.Add(1) > int64(r.pace.InFlight()) {
			r.shared.flying.Add(-1)
			r.recorder.Drop(r.due)
		} else {
			c.begin(r.n, -1, r.start+r.due)
		}
		r.advance()
		if i%startBatch == 0 {
			c.lookUp()
		}
	}
}

// closed lets the users whose turn has come make their next call. Those whose call
// fails at once have their turn after the network had its own.
func (r *run) closed() {
	c := r.core
	c.now = time.Since(c.epoch)
	end := c.now + longestStart
	for i := 1; len(r.think) > 0 && r.start+r.think[0].due <= c.now && c.now < end; i++ {
		t := r.think.pop()
		c.begin(t.n, t.user, r.start+t.due)
		if i%startBatch == 0 {
			c.lookUp()
		}
	}
	for i, n := 1, r.idle.n; i <= n && c.now < end; i++ {
		r.go_(r.idle.pop())
		if i%startBatch == 0 {
			c.lookUp()
		}
	}
	r.over = r.users == 0
}

// go_ makes a user's next call, now or when it has thought.
func (r *run) go_(u user) {
	n := r.shared.next.Add(1) - 1
	due, more := r.pace.Next(n, u.answered)
	switch {
	case !more:
		r.users--
	case r.start+due <= r.core.now:
		r.core.begin(n, u.id, r.start+due)
	default:
		r.think.push(thinker{due, n, u.id})
	}
}

// next is when the next call is due, since the core's epoch.
func (r *run) next() (time.Duration, bool) {
	switch {
	case r.over:
		return 0, false
	case r.pace.Open():
		return r.start + r.due, true
	case r.idle.n > 0:
		return 0, true
	case len(r.think) > 0:
		return r.start + r.think[0].due, true
	}
	return 0, false
}

// record takes a call that has ended, at the time that the core's clock says: that of
// the read that brought its answer.
func (r *run) record(k *call, backend string, status h2.Status) {
	done := r.core.now - r.start
	ended := measure.Call{Due: k.due - r.start, Sent: k.sent - r.start, Done: done, Backend: backend, Code: measure.OK}
	if status.Code != h2.OK {
		ended.Code, ended.Message, ended.Backend = status.Name(), status.Message, ""
	}
	r.recorder.Record(ended)
	if told := r.core.call.Ended; told != nil {
		told(ended)
	}
	if k.user < 0 {
		r.shared.flying.Add(-1)
		return
	}
	r.idle.push(user{k.user, done})
}

// lookUp reads the clock amid many starts, and sends what is a good write already.
func (c *core) lookUp() {
	for _, l := range c.dirty {
		if l.conn != nil && len(l.conn.Out()) > readBuffer/2 {
			l.flush()
		}
	}
	c.now = time.Since(c.epoch)
}
