package wire

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rpclab/internal/wire/h2"
)

// startCall starts a call, whose deadline counts from now on. It also counts as sent from now on, even
// if a connection has to be opened for it: that takes as long as the system needs. A wait for a
// stream or connection that other calls use is the client's own; see admitted.
func (c *core) startCall(n uint64, user int, due time.Duration) {
	c.started++
	call := c.unusedCall()
	call.number, call.user, call.due, call.attempts = n, user, due, 0
	call.refused, call.resent = false, 0
	call.started, call.sent, call.waits, call.waited = c.now, c.now, false, false
	if c.call.Mix.isFlow() {
		c.beginFlow(call)
	}
	c.inFlight.PushBack(call, &call.inFlight)
	if err := c.prepareMessage(call); err != nil {
		c.failCall(call, h2.Status{Code: h2.Internal, Message: err.Error()})
		return
	}
	c.place(call)
}

// unusedCall returns a call that has ended, or a new one.
func (c *core) unusedCall() *call {
	if unused := c.freeCalls; unused != nil {
		c.freeCalls, unused.next = unused.next, nil
		return unused
	}
	added := &call{index: c.index + c.callsAllocated*c.cfg.Cores}
	c.callsAllocated++
	added.stream.Owner, added.stream.Request = added, c.request
	return added
}

// prepareMessage sets what a call sends.
func (c *core) prepareMessage(call *call) (err error) {
	if c.session != nil {
		if err := c.session.prepare(call); err != nil {
			return fmt.Errorf("create the message: %w", err)
		}
		return nil
	}
	worker := call.user
	if worker < 0 {
		worker = call.index
	}
	requestHead := c.requestHead
	kind, number := 0, c.numberOf(call)
	if c.heads != nil {
		kind = c.call.Mix.kindOf(number)
		requestHead, call.stream.Request = c.heads[kind], c.requests[kind]
	}
	limit, ownLimit := c.cfg.Timeout, !call.isFirst() && c.cfg.Timeout > 0 && c.call.HTTP == nil
	if ownLimit {
		limit = max(time.Millisecond, call.started+limit-c.now) // of the whole flow
	}
	if c.call.AppendMetadata != nil || c.call.AppendPath != nil || ownLimit {
		if call.stream.Request, requestHead, err = c.headOf(kind, number, worker, limit); err != nil {
			return fmt.Errorf("create the metadata: %w", err)
		}
	}
	call.stream.Payload = c.payload
	if c.call.AppendMessage != nil || (c.call.AppendMetadata != nil || c.call.AppendPath != nil || c.heads != nil) && c.call.isHTTP1() {
		if call.buffer, err = c.appendPayload(number, worker, requestHead, call.buffer[:0]); err != nil {
			return fmt.Errorf("create the message: %w", err)
		}
		call.stream.Payload = call.buffer
	}
	if c.call.Stream != nil {
		c.beginStream(call)
	}
	return nil
}

// headOf returns the [core.head] of a call with metadata, a path or a time limit of its own.
func (c *core) headOf(kind int, number uint64, worker int, limit time.Duration) (request *h2.Request, head []byte, err error) {
	c.fields = c.fields[:0]
	if c.call.AppendMetadata != nil {
		if c.fields, err = c.call.AppendMetadata(number, worker, c.fields); err != nil {
			return nil, nil, err
		}
	}
	path := ""
	if c.call.AppendPath != nil {
		if c.scratch, err = c.call.AppendPath(number, worker, c.scratch[:0]); err != nil {
			return nil, nil, err
		}
		path = string(c.scratch)
	}
	return c.head(kind, path, c.fields, limit)
}

// head returns what precedes a message of a kind of calls: a header block, or the head of an HTTP/1.1 request. An empty
// path is that of the kind.
func (c *core) head(kind int, path string, more []h2.Field, limit time.Duration) (request *h2.Request, head []byte, err error) {
	call := c.call
	if mix := call.Mix; mix != nil {
		call.Method, call.Metadata = mix.Kinds[kind].Method, slices.Concat(call.Metadata, mix.Kinds[kind].Metadata)
	}
	if call.HTTP != nil {
		http := *call.HTTP
		if call.Mix != nil {
			http.Method, http.Path = call.Method, call.Mix.Kinds[kind].Path
		}
		http.Path = cmp.Or(path, http.Path)
		if err := http.check(); err != nil {
			return nil, nil, err
		}
		call.HTTP = &http
	}
	if len(more) > 0 {
		call.Metadata = slices.Concat(call.Metadata, more)
	}
	switch {
	case call.isHTTP1():
		head, err = call.headHTTP(c.authority)
	case call.HTTP != nil:
		request, err = call.requestHTTP(c.scheme, c.authority)
	default:
		request, err = call.request(c.scheme, c.authority, limit)
	}
	return request, head, err
}

// appendPayload appends what call n sends. requestHead precedes it with HTTP/1.1.
func (c *core) appendPayload(n uint64, worker int, requestHead, to []byte) (_ []byte, err error) {
	switch {
	case c.call.isHTTP1() && c.call.AppendMessage == nil:
		return appendHTTP(to, requestHead, c.call.Message), nil
	case c.call.isHTTP1(), c.call.Gzip:
		if c.scratch, err = c.call.AppendMessage(n, worker, c.scratch[:0]); err != nil {
			return to, err
		}
		if c.call.Gzip {
			return c.compressor.frame(to, c.scratch)
		}
		return appendHTTP(to, requestHead, c.scratch), nil
	case c.call.HTTP != nil:
		return c.call.AppendMessage(n, worker, to)
	}
	if to, err = c.call.AppendMessage(n, worker, append(to, 0, 0, 0, 0, 0)); err != nil {
		return to, err
	}
	return frameInPlace(to), nil
}

// placeNext sends the next call of a flow.
func (c *core) placeNext(call *call) {
	call.flow.next = false
	if err := c.prepareMessage(call); err != nil {
		c.failCall(call, h2.Status{Code: h2.Internal, Message: err.Error()})
		return
	}
	c.place(call)
}

// place assigns a call to a channel, to the pool or to its own connection.
func (c *core) place(call *call) {
	call.connection = nil
	if c.session != nil && c.session.send(call) {
		return
	}
	if c.cfg.ConnectionPerCall {
		c.placeOnOwnConnection(call)
		return
	}
	if c.cfg.ChannelPerUser && call.user >= 0 {
		c.userChannel(call.user).start(call)
		return
	}
	if c.pool != nil {
		c.pool.start(call)
		return
	}
	which := call.number / uint64(c.cfg.Cores)
	if call.sessionStream == nil {
		which += c.before // a load can be a short block, which would use the first channels only
	}
	if c.cfg.Sticky && call.user >= 0 {
		which = uint64(call.user / c.cfg.Cores) // by the user's number on this core
	}
	c.channels[which%uint64(len(c.channels))].start(call)
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

func (c *core) placeOnOwnConnection(call *call) {
	if own := call.ownConnection; own != nil { // of the call before in a flow
		if !own.connection.draining && !own.connection.closed && own.connection.protocol.Usable() {
			own.call = call
			own.connection.start(call)
			return
		}
		call.ownConnection = nil
		own.connection.drain("")
	}
	if len(c.addrs) == 0 {
		if c.noAddress != "" {
			c.failCall(call, h2.Status{Code: h2.Unavailable, Message: c.noAddress})
			return
		}
		c.waitingForAddress.PushBack(call, &call.queued)
		return
	}
	own := &callConnection{core: c, call: call}
	if c.cfg.RoundRobin || c.cfg.Shuffle {
		own.addressIndex = rand.IntN(len(c.addrs)) // as these policies of gRPC do
	}
	call.ownConnection = own
	own.connection = c.open(own, c.addrs[own.addressIndex%len(c.addrs)])
}
