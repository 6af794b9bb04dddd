package wire

import (
	"time"

	"rpclab/internal/wire/h2"
)

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
		l.core.now = time.Since(l.core.epoch) // the wait for the socket may have been long
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
	if read {
		l.read()
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
func (l *connection) Data(stream *h2.Stream) {
	if l.core.call.HTTP != nil {
		return
	}
	call := stream.Owner.(*call)
	switch {
	case call.sessionStream != nil:
		l.core.session.receive(call)
		return
	case l.core.call.Stream != nil:
		if l.core.receiveMessages(call); call.streaming.enough {
			l.core.endByClient(call)
		}
		return
	}
	if why := l.core.decoder.invalid(stream.Body); why.Code != h2.OK {
		l.protocol.Abort(stream, why)
	}
}

// Done implements [h2.Handler].
func (l *connection) Done(stream *h2.Stream) {
	l.carriedCall = true
	l.core.streamEnded(stream.Owner.(*call))
}

// Admitted implements [h2.Handler].
func (l *connection) Admitted(stream *h2.Stream) (send bool) {
	return l.core.admitted(stream.Owner.(*call))
}

// Returned implements [h2.Handler].
func (l *connection) Returned(stream *h2.Stream, why h2.Status) {
	l.core.unprocessed(stream.Owner.(*call), why)
}
