package wire

import (
	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// maxAttempts limits the attempts of a call that servers did not process. An attempt that only
// waited for a stream does not count.
const maxAttempts = 5

// streamEnded handles a call whose stream has ended.
func (c *core) streamEnded(k *call) {
	if k.sessionStream != nil {
		c.session.streamEnded(k, statusOf(&k.stream))
		return
	}
	var message []byte
	var status h2.Status
	switch {
	case c.call.HTTP != nil:
		message, status = k.stream.Body, c.call.HTTP.outcome(&k.stream)
	case c.call.Stream != nil:
		status = c.streamStatus(k)
	default:
		message, status = c.decoder.unary(&k.stream)
	}
	if status.Code == h2.Cancelled && k.stream.Failed.Code != h2.OK && c.cfg.Timeout > 0 && k.sent+c.cfg.Timeout <= c.now {
		status = c.deadlineExceeded() // the server enforced the deadline before this side did
	}
	if c.session != nil {
		c.session.unaryEnded(k, status)
		return
	}
	backend := ""
	if k.stream.Trailers != nil {
		backend = k.stream.Trailers.Backend
	}
	if backend == "" && k.stream.Headers != nil {
		backend = k.stream.Headers.Backend
	}
	if status.Code == h2.OK && c.call.Check != nil && c.call.Stream == nil {
		if err := c.call.Check(k.number, message, backend); err != nil {
			status = h2.Status{Code: h2.DataLoss, Message: err.Error()}
		}
	}
	c.endCall(k, backend, status)
}

// endCall ends a call with its status.
func (c *core) endCall(k *call, backend string, status h2.Status) {
	k.queued.Remove()
	if k.sessionStream != nil {
		c.session.streamEnded(k, status)
		return
	}
	k.inFlight.Remove()
	if c.session != nil {
		c.session.stopAwaiting(k)
	}
	if k.connection != nil {
		k.connection.lastUsed = c.now
	}
	if o := k.ownConnection; o != nil {
		o.call, k.ownConnection = nil, nil
		o.connection.drain("")
	}
	if c.load != nil {
		c.load.record(k, backend, status)
	}
	k.connection = nil
	k.next, c.freeCalls = c.freeCalls, k
}

func (c *core) failCall(k *call, why h2.Status) { c.endCall(k, "", why) }

// cancelCall ends a call from this side.
func (c *core) cancelCall(k *call, why h2.Status) {
	if k.connection != nil && k.connection.protocol != nil {
		k.connection.protocol.Cancel(&k.stream)
		k.connection.afterChange()
	}
	c.endCall(k, "", why)
}

// unprocessed handles a call that the server did not process: it can be sent again.
func (c *core) unprocessed(k *call, why h2.Status) {
	if s := k.sessionStream; s != nil && (s.index < 0 || k.stream.Sent()) {
		c.session.streamEnded(k, why)
		return
	}
	k.connection = nil
	if c.session != nil {
		c.session.stopAwaiting(k)
	}
	if k.stream.Sent() || k.ownConnection != nil {
		k.attempts++
	}
	if k.attempts >= maxAttempts || c.closing {
		c.failCall(k, why)
		return
	}
	if k.ownConnection != nil {
		k.ownConnection.call = nil
		k.ownConnection.connection.drain("")
		k.ownConnection = nil
	}
	c.retry.PushBack(k, &k.queued) // in the next turn: the connection is still handling its input
}

func (c *core) deadlineExceeded() h2.Status {
	return h2.Status{Code: h2.DeadlineExceeded, Message: "no answer within " + c.cfg.Timeout.String()}
}

// record records a call that has ended now: at the time of the read that brought its response.
func (r *load) record(k *call, backend string, status h2.Status) {
	done := r.core.now - r.start
	ended := measure.Call{Due: k.due - r.start, Sent: k.sent - r.start, Done: done, Backend: backend, Code: measure.OK}
	if status.Code != h2.OK {
		ended.Code, ended.Message, ended.Backend = status.Name(), status.Message, ""
	}
	r.recorder.Record(ended)
	if onEnd := r.core.call.OnEnd; onEnd != nil {
		onEnd(ended)
	}
	if k.user < 0 {
		r.shared.inFlight.Add(-1)
		return
	}
	r.idleUsers.push(user{k.user, done})
}
