package wire

import (
	"math/rand/v2"
	"time"

	"rpclab/internal/wire/h2"
	"rpclab/internal/wire/list"
)

// call is a call in flight. It is reused for later calls.
type call struct {
	stream        h2.Stream
	number        uint64
	user          int             // of a closed pace; -1: none
	index         int             // unique among all cores; the worker without a user
	due, sent     time.Duration   // since the core's epoch
	connection    *connection     // of its stream; nil: none yet
	channel       *channel        // in whose queue it may wait
	ownConnection *callConnection // for this call only; nil: none
	buffer, batch []byte
	streaming     streamState
	request       *sessionRequest // of a session; nil: none
	sessionStream *sessionStream  // of a session; nil: a call of the load
	attempts      int
	queued        list.Link[call] // waits for a connection, an address or a retry
	inFlight      list.Link[call] // in core.inFlight
	next          *call           // in core.freeCalls
}

// maxAttempts limits the attempts of a call that servers did not process. An attempt that only
// waited for a stream does not count.
const maxAttempts = 5

func (l *connection) start(c *call) {
	if t := l.core.session; t != nil && t.Streams == 0 && c.sessionStream == nil && !t.awaitResponseStream(l, c) {
		return
	}
	c.connection, l.lastUsed = l, l.core.now
	c.stream.Reset()
	if s := l.core.call.Stream; s != nil {
		c.stream.More = c.streaming.sent < s.Messages
	}
	if s := c.sessionStream; s != nil {
		c.stream.More = s.index >= 0
	}
	l.protocol.Start(&c.stream)
	l.core.markUnflushed(l)
}

// startCall starts a call. The call counts as sent from now on, even if it has to wait for a
// connection or a stream: the system causes that wait, not the load generator.
func (c *core) startCall(n uint64, user int, due time.Duration) {
	k := c.freeCalls
	if k == nil {
		k = &call{index: c.index + c.callsAllocated*c.cfg.Cores}
		c.callsAllocated++
		k.stream.Owner = k
		k.stream.Request = c.request
	} else {
		c.freeCalls = k.next
		k.next = nil
	}
	k.number, k.user, k.due, k.sent, k.attempts = n, user, due, c.now, 0
	if c.call.OnStart != nil {
		c.call.OnStart()
	}
	c.inFlight.PushBack(k, &k.inFlight)
	if err := c.prepareMessage(k); err != nil {
		c.failCall(k, h2.Status{Code: h2.Internal, Message: "create the message: " + err.Error()})
		return
	}
	c.place(k)
}

// prepareMessage sets what a call sends.
func (c *core) prepareMessage(k *call) (err error) {
	if c.session != nil {
		return c.session.prepare(k)
	}
	k.stream.Payload = c.payload
	if c.call.AppendMessage != nil {
		worker := k.user
		if worker < 0 {
			worker = k.index
		}
		if k.buffer, err = c.appendPayload(k.number, worker, k.buffer[:0]); err != nil {
			return err
		}
		k.stream.Payload = k.buffer
	}
	if c.call.Stream != nil {
		c.beginStream(k)
	}
	return nil
}

// appendPayload appends what call n sends.
func (c *core) appendPayload(n uint64, worker int, to []byte) (_ []byte, err error) {
	switch {
	case c.call.isHTTP1():
		if c.scratch, err = c.call.AppendMessage(n, worker, c.scratch[:0]); err != nil {
			return to, err
		}
		return appendHTTP(to, c.requestHead, c.scratch), nil
	case c.call.HTTP != nil:
		return c.call.AppendMessage(n, worker, to)
	}
	if to, err = c.call.AppendMessage(n, worker, append(to, 0, 0, 0, 0, 0)); err != nil {
		return to, err
	}
	return frameInPlace(to), nil
}

// place gives a call to a channel, to the pool or to a connection of its own.
func (c *core) place(k *call) {
	k.connection, k.channel = nil, nil
	if t := c.session; t != nil && t.Streams > 0 && k.sessionStream == nil {
		t.send(k)
		return
	}
	if c.cfg.ConnectionPerCall {
		c.placeOnOwnConnection(k)
		return
	}
	if c.cfg.ChannelPerUser && k.user >= 0 {
		k.channel = c.userChannel(k.user)
		k.channel.start(k)
		return
	}
	if c.pool != nil {
		c.pool.start(k)
		return
	}
	which := k.number / uint64(c.cfg.Cores)
	if c.cfg.Sticky && k.user >= 0 {
		which = uint64(k.user)
	}
	k.channel = c.channels[which%uint64(len(c.channels))]
	k.channel.start(k)
}

// userChannel returns a user's channel.
func (c *core) userChannel(user int) *channel {
	n := user / c.cfg.Cores
	for len(c.userChannels) <= n {
		c.userChannels = append(c.userChannels, nil)
	}
	if c.userChannels[n] == nil {
		c.userChannels[n] = &channel{core: c, lazy: true}
		c.userChannels[n].update(c.addrs)
	}
	return c.userChannels[n]
}

func (c *core) placeOnOwnConnection(k *call) {
	if len(c.addrs) == 0 {
		if c.noAddress != "" {
			c.failCall(k, h2.Status{Code: h2.Unavailable, Message: c.noAddress})
			return
		}
		c.waitingForAddress.PushBack(k, &k.queued)
		return
	}
	o := &callConnection{core: c, call: k}
	if c.cfg.RoundRobin {
		o.addressIndex = rand.IntN(len(c.addrs)) // as gRPC's round_robin does
	}
	k.ownConnection = o
	o.connection = c.open(o, c.addrs[o.addressIndex%len(c.addrs)])
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

func (c *core) deadlineExceeded() h2.Status {
	return h2.Status{Code: h2.DeadlineExceeded, Message: "no answer within " + c.cfg.Timeout.String()}
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
