package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h1"
	"rpclab/internal/wire/h2"
)

// link is one connection of a core, from its opening to its end. It implements
// [h2.Handler].
type link struct {
	core  *core
	slot  int32
	gen   int32 // tells late events from those of the slot's next link
	owner owner
	addr  string

	transport transport          // nil: not connected
	socket    *socket            // the transport, when it is one
	conn      protocol           // nil: not connected
	cancel    context.CancelFunc // of a dial under way
	opened    time.Duration      // when the dial began
	dialing   bool               // until the server's settings are here
	among     chain.Link[link]   // those that dial
	dirty     bool               // is in core.dirty
	draining  bool               // ends with its last call
	dead      bool
	useful    bool // a call ended on it

	heard  time.Duration // when something was read
	pinged time.Duration // when the last PING was due to be sent; 0: never
	used   time.Duration // when a call began or ended
	every  time.Duration // how long silence may last before a PING; 0: for ever
	idle   bool          // ends for want of calls
	free   bool          // is in its pool's list of those
	look   *timer        // the next look at these times; nil: none is due

	answers *call // the stream of answers to questions; nil: there is none
}

// owner is who asked for a connection.
type owner interface {
	ready(*link)
	// lost comes once when the connection is of no more use for new calls: it could
	// not be opened, broke, or its server goes away.
	lost(l *link, why string)
}

// greet says the preface.
func (l *link) greet() {
	l.conn = l.core.newConn(l)
	l.heard, l.used = l.core.now, l.core.now
	l.core.touch(l)
	if l.core.call.old() { // has no settings to wait for
		l.Ready()
	}
}

// event is the poller's: the socket can be read, or takes more.
func (l *link) event(read, write bool) {
	if l.conn == nil {
		if err := l.socket.connected(); err != nil {
			l.broken(err)
			return
		}
		l.greet()
		return
	}
	if write {
		l.core.touch(l)
	}
	if !read {
		return
	}
	n, err := l.socket.read(l.core.buffer)
	switch {
	case err == errWouldBlock:
	case err != nil:
		l.broken(err)
	case n == 0:
		l.broken(io.EOF)
	default:
		l.feed(l.core.buffer[:n], time.Since(l.core.epoch))
	}
}

// feed takes what was read; at is when the read returned, the time of its answers.
func (l *link) feed(p []byte, at time.Duration) {
	l.core.now, l.heard = at, at
	if err := l.conn.Feed(p); err != nil {
		l.flush() // says why
		if !l.dead {
			l.broken(err)
		}
		return
	}
	l.review()
}

// review looks at what has changed on the connection.
func (l *link) review() {
	if why := l.conn.GoAway(); why != "" && !l.draining {
		l.pingLess(why)
		l.drain(why)
	}
	l.retire()
	if p, ok := l.owner.(*pool); ok && !l.dead {
		p.freed(l)
	}
	if !l.dead && len(l.conn.Out()) > 0 {
		l.core.touch(l)
	}
}

// flush writes what there is to write.
func (l *link) flush() {
	for l.transport != nil && l.conn != nil && len(l.conn.Out()) > 0 {
		out := l.conn.Out()
		n, err := l.transport.write(out)
		if err != nil {
			l.broken(err)
			return
		}
		l.conn.Wrote(n)
		if n < len(out) {
			return
		}
	}
}

// drain takes the link away from its owner; calls under way may finish.
func (l *link) drain(why string) {
	if l.draining || l.dead {
		return
	}
	l.draining = true
	l.owner.lost(l, why)
	if l.core.talk != nil {
		l.core.talk.leave(l)
	}
	l.retire()
}

// retire closes a link that drains when it has no call left, and gives way when its
// stream ids are used up.
func (l *link) retire() {
	switch {
	case l.dead:
	case l.draining && (l.conn == nil || l.conn.Active() == 0):
		l.flush()
		l.close(h2.Status{})
	case !l.draining && !l.dialing && !l.conn.Usable():
		l.drain("the connection has used all its stream ids")
	}
}

// broken ends the link for a reason that is not ours.
func (l *link) broken(err error) {
	if l.dead {
		return
	}
	why := fmt.Sprintf("connection to %s: %v", l.addr, err)
	if errors.Is(err, io.EOF) {
		if c, ok := l.conn.(*h1.Conn); ok {
			c.End()
		}
		why = fmt.Sprintf("connection to %s: the server closed it", l.addr)
	}
	if l.conn != nil && l.conn.GoAway() != "" {
		why += " (" + l.conn.GoAway() + ")"
	}
	if l.dialing {
		why = fmt.Sprintf("cannot connect to %s: %v", l.addr, helped(err))
	}
	told := l.draining
	l.draining = true
	if !told {
		l.owner.lost(l, why)
	}
	l.close(h2.Status{Code: h2.Unavailable, Message: why})
}

func (l *link) close(why h2.Status) {
	if l.dead {
		return
	}
	l.dead = true
	l.dialed()
	if l.cancel != nil {
		l.cancel()
	}
	if l.transport != nil {
		l.transport.close()
	}
	l.transport, l.socket = nil, nil
	l.core.timers.remove(l.look)
	l.core.release(l)
	if l.conn != nil {
		l.conn.Close(why)
	}
}

// dialed lets the next one dial.
func (l *link) dialed() {
	if l.dialing {
		l.dialing = false
		l.among.Leave()
		l.core.dialNext()
	}
}

// Ready implements [h2.Handler].
func (l *link) Ready() {
	l.dialed()
	l.every = l.core.keepAlive
	l.watch()
	l.owner.ready(l)
}

// Data implements [h2.Handler]. Unary answers are taken whole; what cannot become
// one is not waited for.
func (l *link) Data(s *h2.Stream) {
	if l.core.call.HTTP != nil {
		return
	}
	if k := s.Owner.(*call); k.listening != nil || l.core.call.Stream != nil {
		l.core.streamed(k)
		return
	}
	if why := l.core.unpack.hopeless(s.Body); why.Code != h2.OK {
		l.conn.Abort(s, why)
	}
}

// Done implements [h2.Handler].
func (l *link) Done(s *h2.Stream) {
	l.useful = true
	l.core.answered(s.Owner.(*call))
}

// Returned implements [h2.Handler].
func (l *link) Returned(s *h2.Stream, why h2.Status) { l.core.returned(s.Owner.(*call), why) }
