package wire

import (
	"time"

	"rpclab/internal/wire/h2"
)

const (
	startBatch = 32 // calls between two readings of the clock
	// longestStart is how long a turn starts calls before it reads again. A response that has come does
	// not wait for all calls that are due.
	longestStart = time.Millisecond
)

// begin prepares the load.
func (r *load) begin() {
	c := r.core
	r.start = max(c.now, r.start)
	if r.pace.Open() {
		r.nextCall = ^uint64(0) // advance adds 1
		r.advance()
		return
	}
	for u := c.index; u < r.pace.InFlight(); u += c.cfg.Cores {
		r.idleUsers.push(user{u, r.pace.First(u)})
		r.activeUsers++
	}
}

// turn starts every call that is due.
func (r *load) turn() {
	switch {
	case r.ctx.Err() != nil && !r.cancelled:
		r.cancel()
	case r.over:
	case r.pace.Open():
		r.open()
	default:
		r.closed()
	}
	if r.over && r.core.inFlight.Len() == 0 {
		r.core.load = nil
		r.connections = r.core.stats.Connections
		r.done <- struct{}{}
	}
}

// cancel makes no more calls and cancels those in flight.
func (r *load) cancel() {
	r.over, r.cancelled = true, true
	for k := r.core.inFlight.Front(); k != nil; k = r.core.inFlight.Front() {
		r.core.cancelCall(k, h2.Status{Code: h2.Cancelled, Message: "the load was cancelled"})
	}
}

// advance finds the next call of this core.
func (r *load) advance() {
	for more := true; ; {
		r.nextCall++
		if r.nextDue, more = r.pace.Next(r.nextCall, r.previousDue); !more {
			r.over = true
			return
		}
		r.previousDue = r.nextDue
		if r.nextCall%uint64(r.core.cfg.Cores) == uint64(r.core.index) {
			return
		}
	}
}

func (r *load) open() {
	c := r.core
	c.now = time.Since(c.epoch)
	for i, end := 1, c.now+longestStart; !r.over && r.start+r.nextDue <= c.now && c.now < end; i++ {
		if r.shared.inFlight.Add(1) > int64(r.pace.InFlight()) {
			r.shared.inFlight.Add(-1)
			r.recorder.Drop(r.nextDue)
		} else {
			c.startCall(r.nextCall, -1, r.start+r.nextDue)
		}
		r.advance()
		if i%startBatch == 0 {
			c.flushFullBuffers()
		}
	}
}

// closed starts the next calls of the users whose think time is over or whose call has ended. A
// user whose call fails at once comes again after the next read.
func (r *load) closed() {
	c := r.core
	c.now = time.Since(c.epoch)
	end := c.now + longestStart
	for i := 1; len(r.thinkingUsers) > 0 && r.start+r.thinkingUsers[0].due <= c.now && c.now < end; i++ {
		t := r.thinkingUsers.pop()
		c.startCall(t.n, t.user, r.start+t.due)
		if i%startBatch == 0 {
			c.flushFullBuffers()
		}
	}
	for i, n := 1, r.idleUsers.n; i <= n && c.now < end; i++ {
		r.nextCallOf(r.idleUsers.pop())
		if i%startBatch == 0 {
			c.flushFullBuffers()
		}
	}
	r.over = r.activeUsers == 0
}

// nextCallOf makes a user's next call, now or after the think time.
func (r *load) nextCallOf(u user) {
	n := r.shared.next.Add(1) - 1
	due, more := r.pace.Next(n, u.answered)
	switch {
	case !more:
		r.activeUsers--
	case r.start+due <= r.core.now:
		r.core.startCall(n, u.id, r.start+due)
	default:
		r.thinkingUsers.push(thinkingUser{due, n, u.id})
	}
}

// nextDeadline returns when the next call is due, since the core's epoch.
func (r *load) nextDeadline() (time.Duration, bool) {
	switch {
	case r.over:
		return 0, false
	case r.pace.Open():
		return r.start + r.nextDue, true
	case r.idleUsers.n > 0:
		return 0, true
	case len(r.thinkingUsers) > 0:
		return r.start + r.thinkingUsers[0].due, true
	}
	return 0, false
}

// flushFullBuffers reads the clock between many starts and writes the buffers that are large
// enough for a write.
func (c *core) flushFullBuffers() {
	for _, l := range c.unflushed {
		if l.protocol != nil && len(l.protocol.Out()) > readBuffer/2 {
			l.flush()
		}
	}
	c.now = time.Since(c.epoch)
}
