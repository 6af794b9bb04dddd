package wire

import (
	"slices"
	"time"

	"rpclab/internal/wire/h2"
)

// The times between attempts follow the gRPC connection backoff protocol. The first one is shorter,
// since the servers are near.
const (
	backoffFirst  = 100 * time.Millisecond
	backoffFactor = 1.6
	backoffMax    = 10 * time.Second
)

// update sets the addresses. The channel connects to new addresses. Connections to removed
// addresses close after their last call.
func (ch *channel) update(addrs []string) {
	groups := [][]string{addrs}
	if len(addrs) == 0 {
		groups = nil
	}
	if ch.core.cfg.RoundRobin {
		groups = nil
		for _, a := range addrs {
			groups = append(groups, []string{a})
		}
	}
	old := ch.subchannels
	ch.subchannels = nil
	var opened []*subchannel
	for _, group := range groups {
		i := slices.IndexFunc(old, func(s *subchannel) bool { return !ch.core.cfg.RoundRobin || s.addrs[0] == group[0] })
		if i < 0 {
			s := &subchannel{channel: ch, addrs: group}
			ch.subchannels, opened = append(ch.subchannels, s), append(opened, s)
			continue
		}
		old[i].move(group)
		ch.subchannels = append(ch.subchannels, old[i])
		old = slices.Delete(old, i, i+1)
	}
	for _, s := range opened {
		if s.idle = ch.lazy; !s.idle {
			s.connect()
		}
	}
	for _, s := range old {
		s.removed = true
		if s.connection != nil {
			s.connection.drain("the address was removed")
		}
	}
	ch.retryWaiting()
}

// move sets a subchannel's addresses. Its connection stays if its address does.
func (s *subchannel) move(addrs []string) {
	s.addrs, s.addressIndex = addrs, 0
	l := s.connection
	if l == nil {
		return
	}
	if i := slices.Index(addrs, l.addr); i >= 0 {
		s.addressIndex = i
		return
	}
	s.connection, s.isReady = nil, false
	l.drain("the address was removed")
	s.connect()
}

func (s *subchannel) connect() {
	if s.removed || s.connection != nil {
		return
	}
	s.idle = false
	s.connection = s.channel.core.open(s, s.addrs[s.addressIndex%len(s.addrs)])
}

func (s *subchannel) ready(*connection) {
	s.isReady, s.failure, s.backoff = true, "", 0
	s.readySince = s.channel.core.now
	s.channel.retryWaiting()
}

func (s *subchannel) lost(l *connection, why string) {
	if s.connection != l {
		return
	}
	wasReady := s.isReady
	s.connection, s.isReady = nil, false
	if s.removed {
		return
	}
	if l.closedIdle {
		s.idle, s.addressIndex = true, 0
		return
	}
	core := s.channel.core
	if core.cfg.OnConnectionLost != nil && !core.closing {
		core.cfg.OnConnectionLost()
	}
	switch {
	case core.closing:
	case wasReady && l.carriedCall: // reconnect at once, from the first address on
		s.addressIndex = 0
		core.after(0, s.connect)
	case wasReady: // limit the attempts to a server that always closes
		s.addressIndex = 0
		core.after(max(0, backoffFirst-(core.now-s.readySince)), s.connect)
	case s.addressIndex+1 < len(s.addrs):
		s.addressIndex++
		core.after(0, s.connect)
	default:
		s.addressIndex, s.failure = 0, why
		s.backoff = min(max(backoffFirst, time.Duration(float64(s.backoff)*backoffFactor)), backoffMax)
		core.after(s.backoff, s.connect)
		s.channel.retryWaiting()
	}
}

func (s *subchannel) checkFree(*connection) {} // it carries many calls at once

// start sends a call on the next ready connection. While none is ready, the call waits if a
// connection is being opened and fails otherwise: gRPC's default, not "wait for ready".
func (ch *channel) start(c *call) {
	if s := ch.pick(); s != nil {
		s.connection.start(c)
		return
	}
	if why := ch.failure(); why != "" {
		ch.core.failCall(c, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	ch.waiting.PushBack(c, &c.queued)
}

func (ch *channel) pick() *subchannel {
	for range ch.subchannels {
		s := ch.subchannels[ch.next%len(ch.subchannels)]
		ch.next++
		if s.isReady && s.connection != nil && s.connection.protocol.Usable() {
			return s
		}
		if s.idle {
			s.connect()
		}
	}
	return nil
}

// failure returns why calls cannot wait for a connection; "": they can.
func (ch *channel) failure() string {
	if len(ch.subchannels) == 0 {
		return ch.core.noAddress
	}
	for _, s := range ch.subchannels {
		if s.failure == "" {
			return ""
		}
	}
	return ch.subchannels[0].failure
}

// retryWaiting starts the waiting calls again after a change.
func (ch *channel) retryWaiting() {
	for n := ch.waiting.Len(); n > 0; n-- {
		c := ch.waiting.Front()
		if c == nil {
			break
		}
		c.queued.Remove()
		ch.start(c)
	}
	ch.core.checkConnected()
}

func (o *callConnection) ready(l *connection) { l.start(o.call) }

func (o *callConnection) lost(_ *connection, why string) {
	core, c := o.core, o.call
	if c == nil { // the call has ended
		return
	}
	if core.cfg.OnConnectionLost != nil && !core.closing {
		core.cfg.OnConnectionLost()
	}
	if c.connection != nil { // the call ends with the connection's streams
		return
	}
	o.addressIndex++
	core.after(0, func() {
		switch {
		case o.call != c:
		case !core.cfg.RoundRobin && o.addressIndex < len(core.addrs): // the addresses may have changed
			o.connection = core.open(o, core.addrs[o.addressIndex])
		default:
			core.failCall(c, h2.Status{Code: h2.Unavailable, Message: why})
		}
	})
}

func (o *callConnection) checkFree(*connection) {} // it closes after its call
