package wire

import (
	"math/rand/v2"
	"time"

	"rpclab/internal/wire/h2"
)

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
	k.connection = nil
	if c.session != nil && c.session.send(k) {
		return
	}
	if c.cfg.ConnectionPerCall {
		c.placeOnOwnConnection(k)
		return
	}
	if c.cfg.ChannelPerUser && k.user >= 0 {
		c.userChannel(k.user).start(k)
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
	c.channels[which%uint64(len(c.channels))].start(k)
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
