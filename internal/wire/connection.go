package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"rpclab/internal/wire/h1"
	"rpclab/internal/wire/h2"
)

func (l *connection) start(call *call) {
	if session := l.core.session; session != nil && !session.mayStart(l, call) {
		return
	}
	call.connection, l.lastUsed = l, l.core.now
	call.stream.Reset()
	if settings := l.core.call.Stream; settings != nil {
		call.stream.More = call.streaming.sent < settings.Messages || settings.KeepOpen
	}
	if state := call.sessionStream; state != nil {
		call.stream.More = state.index >= 0
	}
	waited := call.waits // for a stream of a connection that gave the call back
	call.waits = !l.protocol.Start(&call.stream)
	switch {
	case call.waits:
	case waited:
		l.core.admitted(call)
	case l.core.call.Stream != nil:
		l.core.streamSent(call)
	}
	l.core.markUnflushed(l)
}

// read reads from the socket once.
func (l *connection) read() {
	n, err := l.socket.read(l.core.buffer)
	if err == errWouldBlock {
		return
	}
	l.core.now = time.Since(l.core.epoch) // calls that end with the connection end now, not when the wait for it began
	switch {
	case err != nil:
		l.fail(err)
	case n == 0:
		l.fail(io.EOF)
	default:
		l.feed(l.core.buffer[:n], l.core.now)
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
	if l.closed {
		return
	}
	l.owner.checkFree(l)
	if !l.closed && len(l.protocol.Out()) > 0 {
		l.core.markUnflushed(l)
	}
}

// queueWrite prepares the write of the pending output, whose result flush gets. What is added to the
// output until then is not written yet.
func (l *connection) queueWrite() {
	if l.socket != nil && l.protocol != nil && len(l.protocol.Out()) > 0 {
		l.core.poll.queue(l.socket, l.protocol.Out())
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
		if n > 0 {
			l.lastWrite = l.core.now
		}
		l.protocol.Wrote(n)
		if n < len(out) {
			return
		}
	}
}

// maxUnread is the pending output above which a server that reads nothing loses its connection. Every call
// that runs out of time adds a header block and a reset to it.
const maxUnread = 4 << 20

// failIfUnread closes a connection with too much pending output if the server has read nothing since a
// time.
func (l *connection) failIfUnread(since time.Duration) {
	if l.closed || l.protocol == nil || len(l.protocol.Out()) <= maxUnread || l.lastWrite > since {
		return
	}
	l.fail(fmt.Errorf("the server has read nothing for %s, while %d MB of requests wait for it",
		(l.core.now - l.lastWrite).Round(time.Millisecond), len(l.protocol.Out())>>20))
}

// drain removes the connection from its owner. Calls in flight may finish.
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
	l.core.connections[l.slot] = nil
	l.core.freeSlots = append(l.core.freeSlots, l.slot)
	if l.protocol != nil {
		l.protocol.Close(why)
	}
}

// endDial lets another connection dial, in the next turn.
func (l *connection) endDial() {
	l.dialing = false
	l.dialLink.Remove()
}

// withRemedy adds to an error of the system what the user can do about it.
func withRemedy(err error) error {
	var call *os.SyscallError
	connecting := errors.As(err, &call) && call.Syscall == "connect"
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: raise the limit (ulimit -n), or share the connections among several processes", err)
	case connecting && errors.Is(err, syscall.EADDRNOTAVAIL), // connect chooses the port
		!connecting && errors.Is(err, syscall.EADDRINUSE): // or bind did
		return fmt.Errorf("%w: no local port is left for this server; add source addresses (such as 127.1.0.0/28 on loopback: rpclab load --source)", err)
	}
	return err
}

// tooManyPings is what a server sends in a GOAWAY to a client that sends too many PINGs. The
// client then doubles its interval: gRPC proposal A8, "Server Enforcement".
const tooManyPings = "too_many_pings"

func (l *connection) pingLessOften(why string) {
	if strings.Contains(why, tooManyPings) {
		l.core.keepAlive = max(l.core.keepAlive, 2*l.pingInterval)
	}
}
