package wire

import (
	"cmp"
	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// maxAttempts limits the attempts of a call that servers did not process. An attempt that only
// waited for a stream does not count.
const maxAttempts = 5

// streamEnded handles a call whose stream has ended.
func (c *core) streamEnded(call *call) {
	if call.sessionStream != nil {
		c.session.streamEnded(call, statusOf(&call.stream))
		return
	}
	var message []byte
	var status h2.Status
	switch {
	case c.call.HTTP != nil && c.call.HTTP.Judge != nil && call.stream.Failed.Code == h2.OK && call.stream.Headers != nil && !c.call.HTTP.isCut(&call.stream):
		message, status = call.stream.Body, c.call.HTTP.Judge(c.numberOf(call), call.stream.Headers, call.stream.Body)
	case c.call.HTTP != nil:
		message, status = call.stream.Body, c.call.HTTP.outcome(&call.stream)
	case c.call.Stream != nil:
		status = c.streamStatus(call)
	default:
		message, status = c.decoder.unary(&call.stream)
	}
	if isDeadline(status) && c.cfg.Timeout > 0 && call.started+c.cfg.Timeout <= c.now {
		status = c.deadlineExceeded(call) // the server enforced the deadline before this side did
	}
	if c.session != nil {
		c.session.unaryEnded(call, status)
		return
	}
	backend := c.backend(call)
	if status.Code == h2.OK && c.call.Decode != nil && c.call.Stream == nil && (c.call.HTTP == nil || c.call.HTTP.hasBody(call.stream.Headers.Status)) {
		status = c.decode(call, message)
	}
	if status.Code == h2.OK && c.call.Check != nil && c.call.Stream == nil {
		status = c.check(call, message, backend)
	}
	if status.Code == h2.OK && c.nextOfFlow(call, backend) {
		return
	}
	c.endCall(call, backend, status)
}

// isDeadline reports whether a server that enforces the deadline may have ended the call: by a reset or by its status. That
// of tonic is CANCELLED.
func isDeadline(status h2.Status) bool {
	return status.Code == h2.DeadlineExceeded || status.Code == h2.Cancelled
}

// backend returns the identity of the backend that a call's response names.
func (c *core) backend(call *call) (id string) {
	if call.stream.Trailers != nil {
		id = call.stream.Trailers.Backend
	}
	if id == "" && call.stream.Headers != nil {
		id = call.stream.Headers.Backend
	}
	if id == "" && c.cfg.AddressIsBackend {
		id = cmp.Or(call.connection.remote, call.connection.addr)
	}
	return id
}

// endByClient ends a call's stream well from this side.
func (c *core) endByClient(call *call) {
	backend := c.backend(call)
	call.connection.protocol.Cancel(&call.stream)
	c.endCall(call, backend, call.streaming.failure)
}

// endOverdue ends a call's stream, whose time is over, outside of its connection's input.
func (c *core) endOverdue(call *call) {
	conn := call.connection
	if err := c.call.Stream.CheckEnded(call.streaming.responses); err != nil {
		call.streaming.failure = h2.Status{Code: h2.DeadlineExceeded, Message: err.Error()}
	}
	c.endByClient(call)
	conn.afterChange()
}

// endCall ends a call with its status.
func (c *core) endCall(call *call, backend string, status h2.Status) {
	call.queued.Remove()
	if call.sessionStream != nil {
		c.session.streamEnded(call, status)
		return
	}
	call.inFlight.Remove()
	c.stopTimer(call)
	if c.session != nil {
		c.session.stopAwaiting(call)
	}
	if call.connection != nil {
		call.connection.lastUsed = c.now
	}
	if own := call.ownConnection; own != nil {
		own.call, call.ownConnection = nil, nil
		own.connection.drain("")
	}
	if c.load != nil {
		c.load.record(call, backend, status)
	}
	call.connection = nil
	call.next, c.freeCalls = c.freeCalls, call
}

// stopTimer stops the timer of a call's stream, if it has one.
func (c *core) stopTimer(call *call) {
	c.timers.remove(call.streaming.timer)
	call.streaming.timer = nil
}

func (c *core) failCall(call *call, why h2.Status) { c.endCall(call, "", why) }

// cancelCall ends a call from this side.
func (c *core) cancelCall(call *call, why h2.Status) {
	if call.connection != nil && call.connection.protocol != nil {
		call.connection.protocol.Cancel(&call.stream)
		call.connection.afterChange()
	}
	c.endCall(call, "", why)
}

// unprocessed handles a call that the server did not process: it can be sent again. A request that the server refused is
// sent again once, as grpc-go does (gRFC A6, transparent retries): a server that refuses many has failed calls.
func (c *core) unprocessed(call *call, why h2.Status) {
	if state := call.sessionStream; state != nil && (state.index < 0 || call.stream.Sent()) {
		c.session.streamEnded(call, why)
		return
	}
	// After a GOAWAY the calls before it still run. After a loss, the time to reconnect is not the client's own wait.
	if conn := call.connection; call.waits && call.sessionStream == nil && conn != nil && conn.closed {
		call.waits = false
		call.waited = call.waited || call.isFirst()
		if call.isFirst() && call.attempts == 0 {
			call.sent = max(c.now, call.started)
			call.streaming.lastSent = call.sent
		}
	}
	call.connection = nil
	c.stopTimer(call)
	if c.session != nil {
		c.session.stopAwaiting(call)
	}
	sent := call.stream.Sent()
	if sent || call.ownConnection != nil {
		call.attempts++
	}
	refused := why == h2.Refused
	if refused && call.refused || call.attempts >= maxAttempts || c.closing {
		c.failCall(call, why)
		return
	}
	call.refused = call.refused || refused
	if sent {
		call.resent++
	}
	if call.ownConnection != nil {
		call.ownConnection.call = nil
		call.ownConnection.connection.drain("")
		call.ownConnection = nil
	}
	c.retry.PushBack(call, &call.queued) // in the next turn: the connection is still handling its input
}

func (c *core) deadlineExceeded(call *call) h2.Status {
	why := "no response within " + c.cfg.Timeout.String()
	switch {
	case call.waits:
		why = "not sent within " + c.cfg.Timeout.String() + ": other calls used every stream or connection"
	case c.call.Stream != nil:
		why = c.call.Stream.Unended(call.streaming.responses, c.cfg.Timeout)
	}
	return h2.Status{Code: h2.DeadlineExceeded, Message: why}
}

// nameOf returns the name of call n, or of the first call of flow n; "": there is no mix.
func (c *core) nameOf(n uint64) string {
	switch mix := c.call.Mix; {
	case mix == nil:
		return ""
	case mix.isFlow():
		return mix.Kinds[0].Name
	default:
		return mix.Kinds[mix.KindOf(n)].Name
	}
}

// record records a call that has ended now: at the time of the read that brought its response.
func (r *load) record(call *call, backend string, status h2.Status) {
	done := r.core.now - r.start
	ended := measure.Call{Due: call.due - r.start, Sent: call.sent - r.start, Waited: call.waited || call.waits && call.isFirst(), Resent: call.resent, Done: done, Backend: backend, Code: measure.OK}
	if call.waits && call.attempts == 0 && call.isFirst() {
		ended.Sent = done // it was never sent
	}
	if status.Code != h2.OK {
		ended.Code, ended.Message, ended.Backend = status.Name(), status.Message, ""
	}
	if call.flow == nil {
		ended.Name = r.core.nameOf(call.number)
	} else {
		r.core.endOfFlow(call, backend, status)
		ended.Steps, ended.Backends = call.flow.steps, call.flow.backends
		if status.Code != h2.OK {
			ended.Message = "step " + ended.Steps[len(ended.Steps)-1].Name + ": " + status.Message
		}
	}
	r.recorder.Record(ended)
	if call.user < 0 {
		r.shared.inFlight.Add(-1)
		return
	}
	r.idleUsers.push(user{call.user, done})
}
