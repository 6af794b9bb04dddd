package wire

import (
	"time"

	"rpclab/internal/wire/h2"
)

const (
	startBatch = 32 // calls between two readings of the clock
	// longestStart is how long a turn starts calls before it reads again. A response that has arrived does
	// not wait for all calls that are due.
	longestStart = time.Millisecond
)

// begin prepares the load.
func (r *load) begin() {
	core := r.core
	core.before = core.started
	r.start = max(core.now, r.start)
	if r.pace.Open() {
		r.nextCall = ^uint64(0) // advance adds 1
		r.advance()
		return
	}
	for u := core.index; u < r.pace.InFlight(); u += core.cfg.Cores {
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
		r.done <- struct{}{}
	}
}

// cancel makes no more calls and cancels those in flight.
func (r *load) cancel() {
	r.over, r.cancelled = true, true
	for call := r.core.inFlight.Front(); call != nil; call = r.core.inFlight.Front() {
		r.core.cancelCall(call, h2.Status{Code: h2.Cancelled, Message: "the load was cancelled"})
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
	core := r.core
	core.now = time.Since(core.epoch)
	for i, end := 1, core.now+longestStart; !r.over && r.start+r.nextDue <= core.now && core.now < end; i++ {
		if r.shared.inFlight.Add(1) > int64(r.pace.InFlight()) {
			r.shared.inFlight.Add(-1)
			r.recorder.Drop(r.nextDue, core.nameOf(r.nextCall))
		} else {
			core.startCall(r.nextCall, -1, r.start+r.nextDue)
		}
		r.advance()
		if i%startBatch == 0 {
			core.flushFullBuffers()
		}
	}
}

// closed starts the next calls of the users whose think time is over or whose call has ended. A
// user whose call fails at once calls again after the next read.
func (r *load) closed() {
	core := r.core
	core.now = time.Since(core.epoch)
	end := core.now + longestStart
	for i := 1; len(r.thinkingUsers) > 0 && r.start+r.thinkingUsers[0].due <= core.now && core.now < end; i++ {
		next := r.thinkingUsers.pop()
		core.startCall(next.n, next.user, r.start+next.due)
		if i%startBatch == 0 {
			core.flushFullBuffers()
		}
	}
	for i, n := 1, r.idleUsers.n; i <= n && core.now < end; i++ {
		r.nextCallOf(r.idleUsers.pop())
		if i%startBatch == 0 {
			core.flushFullBuffers()
		}
	}
	r.over = r.activeUsers == 0
}

// nextCallOf makes a user's next call, now or after the think time.
func (r *load) nextCallOf(user user) {
	n := r.shared.next.Add(1) - 1
	due, more := r.pace.Next(n, user.ended)
	switch {
	case !more:
		r.activeUsers--
	case r.start+due <= r.core.now:
		r.core.startCall(n, user.id, r.start+due)
	default:
		r.thinkingUsers.push(thinkingUser{due, n, user.id})
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
	for _, conn := range c.unflushed {
		if conn.protocol != nil && len(conn.protocol.Out()) > readBuffer/2 {
			conn.flush()
		}
	}
	c.now = time.Since(c.epoch)
}
