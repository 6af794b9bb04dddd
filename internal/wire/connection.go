package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/wire/h1"
	"rpclab/internal/wire/h2"
	"rpclab/internal/wire/list"
)

// connection is one connection of a core, from its dial to its close. It implements [h2.Handler].
type connection struct {
	core       *core
	slot       int32
	generation int32 // tells late events from those of the slot's next connection
	owner      connectionOwner
	addr       string

	transport   transport             // nil: not connected
	socket      *socket               // the transport, if it is a socket
	protocol    protocol              // nil: not connected
	cancel      context.CancelFunc    // of the dial in progress
	opened      time.Duration         // when the dial began
	dialing     bool                  // until the server's SETTINGS have come
	dialLink    list.Link[connection] // in core.dialing
	unflushed   bool                  // is in core.unflushed
	draining    bool                  // closes after its last call
	closed      bool
	carriedCall bool // a call ended on it

	lastRead     time.Duration // time of the last read
	lastPing     time.Duration // time of the last PING; 0: none
	lastUsed     time.Duration // when a call last started or ended
	pingInterval time.Duration // time without data before a PING; 0: no PINGs
	closedIdle   bool          // closed because it had no calls
	inPool       bool          // is in its pool's free list
	checkTimer   *timer        // next check of keepalive and idle time; nil: none

	responseStream *call // the session's stream of responses; nil: none
}

// connectionOwner asked for a connection.
type connectionOwner interface {
	ready(*connection)
	// lost is called once when the connection takes no more new calls: it could not be opened,
	// broke, or its server sent GOAWAY.
	lost(l *connection, why string)
}

// startProtocol sends the connection preface.
func (l *connection) startProtocol() {
	l.protocol = l.core.newConn(l)
	l.lastRead, l.lastUsed = l.core.now, l.core.now
	l.core.markUnflushed(l)
	if l.core.call.isHTTP1() { // has no SETTINGS to wait for
		l.Ready()
	}
}

// onPoll is called by the poller when the socket can be read or written.
func (l *connection) onPoll(read, write bool) {
	if l.protocol == nil {
		if err := l.socket.connected(); err != nil {
			l.fail(err)
			return
		}
		l.startProtocol()
		return
	}
	if write {
		l.core.markUnflushed(l)
	}
	if !read {
		return
	}
	n, err := l.socket.read(l.core.buffer)
	switch {
	case err == errWouldBlock:
	case err != nil:
		l.fail(err)
	case n == 0:
		l.fail(io.EOF)
	default:
		l.feed(l.core.buffer[:n], time.Since(l.core.epoch))
	}
}

// feed handles what was read. at is when the read returned, which is the time of its responses.
func (l *connection) feed(p []byte, at time.Duration) {
	l.core.now, l.lastRead = at, at
	if err := l.protocol.Feed(p); err != nil {
		l.flush() // sends the GOAWAY
		if !l.closed {
			l.fail(err)
		}
		return
	}
	l.afterChange()
}

// afterChange handles a GOAWAY, closes a drained connection and returns a free connection to its
// pool.
func (l *connection) afterChange() {
	if why := l.protocol.GoAway(); why != "" && !l.draining {
		l.pingLessOften(why)
		l.drain(why)
	}
	l.closeIfDrained()
	if p, ok := l.owner.(*pool); ok && !l.closed {
		p.release(l)
	}
	if !l.closed && len(l.protocol.Out()) > 0 {
		l.core.markUnflushed(l)
	}
}

// flush writes the pending output.
func (l *connection) flush() {
	for l.transport != nil && l.protocol != nil && len(l.protocol.Out()) > 0 {
		out := l.protocol.Out()
		n, err := l.transport.write(out)
		if err != nil {
			l.fail(err)
			return
		}
		l.protocol.Wrote(n)
		if n < len(out) {
			return
		}
	}
}

// drain takes the connection away from its owner. Calls in flight may finish.
func (l *connection) drain(why string) {
	if l.draining || l.closed {
		return
	}
	l.draining = true
	l.owner.lost(l, why)
	if l.core.session != nil {
		l.core.session.releaseDraining(l)
	}
	l.closeIfDrained()
}

// closeIfDrained closes a draining connection without calls, and drains a connection whose stream
// ids are used up.
func (l *connection) closeIfDrained() {
	switch {
	case l.closed:
	case l.draining && (l.protocol == nil || l.protocol.Active() == 0):
		l.flush()
		l.close(h2.Status{})
	case !l.draining && !l.dialing && !l.protocol.Usable():
		l.drain("the connection has used all its stream ids")
	}
}

// fail closes the connection because of an error.
func (l *connection) fail(err error) {
	if l.closed {
		return
	}
	why := fmt.Sprintf("connection to %s: %v", l.addr, err)
	if errors.Is(err, io.EOF) {
		if c, ok := l.protocol.(*h1.Conn); ok {
			c.End()
		}
		why = fmt.Sprintf("connection to %s: the server closed it", l.addr)
	}
	if l.protocol != nil && l.protocol.GoAway() != "" {
		why += " (" + l.protocol.GoAway() + ")"
	}
	if l.dialing {
		why = fmt.Sprintf("cannot connect to %s: %v", l.addr, withRemedy(err))
	}
	wasDraining := l.draining
	l.draining = true
	if !wasDraining {
		l.owner.lost(l, why)
	}
	l.close(h2.Status{Code: h2.Unavailable, Message: why})
}

func (l *connection) close(why h2.Status) {
	if l.closed {
		return
	}
	l.closed = true
	l.endDial()
	if l.cancel != nil {
		l.cancel()
	}
	if l.transport != nil {
		l.transport.close()
	}
	l.transport, l.socket = nil, nil
	l.core.timers.remove(l.checkTimer)
	l.core.release(l)
	if l.protocol != nil {
		l.protocol.Close(why)
	}
}

// endDial lets the next connection dial.
func (l *connection) endDial() {
	if l.dialing {
		l.dialing = false
		l.dialLink.Remove()
		l.core.dialNext()
	}
}

// Ready implements [h2.Handler].
func (l *connection) Ready() {
	l.endDial()
	l.pingInterval = l.core.keepAlive
	l.checkIdle()
	l.owner.ready(l)
}

// Data implements [h2.Handler]. A unary response is read to its end, unless it is invalid already.
func (l *connection) Data(s *h2.Stream) {
	if l.core.call.HTTP != nil {
		return
	}
	if k := s.Owner.(*call); k.sessionStream != nil || l.core.call.Stream != nil {
		l.core.receiveMessages(k)
		return
	}
	if why := l.core.decoder.invalid(s.Body); why.Code != h2.OK {
		l.protocol.Abort(s, why)
	}
}

// Done implements [h2.Handler].
func (l *connection) Done(s *h2.Stream) {
	l.carriedCall = true
	l.core.streamEnded(s.Owner.(*call))
}

// Returned implements [h2.Handler].
func (l *connection) Returned(s *h2.Stream, why h2.Status) { l.core.unprocessed(s.Owner.(*call), why) }
