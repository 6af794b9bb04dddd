package wire

import (
	"math/rand/v2"
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
	if ch.core.cfg.Shuffle {
		addrs = slices.Clone(addrs)
		rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	}
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
		i := slices.IndexFunc(old, func(sub *subchannel) bool { return !ch.core.cfg.RoundRobin || sub.addrs[0] == group[0] })
		if i < 0 {
			sub := &subchannel{channel: ch, addrs: group}
			ch.subchannels, opened = append(ch.subchannels, sub), append(opened, sub)
			continue
		}
		old[i].move(group)
		ch.subchannels = append(ch.subchannels, old[i])
		old = slices.Delete(old, i, i+1)
	}
	for _, sub := range opened {
		if sub.idle = ch.lazy; !sub.idle {
			sub.connect()
		}
	}
	for _, sub := range old {
		sub.removed = true
		if sub.connection != nil {
			sub.connection.drain("the address was removed")
		}
	}
	ch.retryWaiting()
}

// move sets a subchannel's addresses. Its connection stays if its address does. Without a connection, the subchannel
// tries new addresses at once.
func (s *subchannel) move(addrs []string) {
	isNew := func(addr string) bool { return !slices.Contains(s.addrs, addr) }
	tryAgain := !s.idle && slices.ContainsFunc(addrs, isNew)
	s.addrs, s.addressIndex = addrs, 0
	conn := s.connection
	if conn == nil {
		if tryAgain {
			s.backoff = 0
			s.connect()
		}
		return
	}
	if i := slices.Index(addrs, conn.addr); i >= 0 {
		s.addressIndex = i
		return
	}
	s.connection, s.isReady = nil, false
	conn.drain("the address was removed")
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

func (s *subchannel) lost(conn *connection, why string) {
	if s.connection != conn {
		return
	}
	wasReady := s.isReady
	s.connection, s.isReady = nil, false
	if s.removed {
		return
	}
	if conn.closedIdle {
		s.idle, s.addressIndex = true, 0
		return
	}
	core := s.channel.core
	if core.cfg.OnConnectionLost != nil && !core.closing {
		core.cfg.OnConnectionLost()
	}
	switch {
	case core.closing:
	case wasReady && conn.carriedCall: // reconnect at once, from the first address on
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
func (ch *channel) start(call *call) {
	if sub := ch.pick(); sub != nil {
		sub.connection.start(call)
		return
	}
	if why := ch.failure(); why != "" {
		ch.core.failCall(call, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	ch.waiting.PushBack(call, &call.queued)
}

func (ch *channel) pick() *subchannel {
	for range ch.subchannels {
		sub := ch.subchannels[ch.next%len(ch.subchannels)]
		ch.next++
		if sub.isReady && sub.connection != nil && sub.connection.protocol.Usable() {
			return sub
		}
		if sub.idle {
			sub.connect()
		}
	}
	return nil
}

// failure returns why calls cannot wait for a connection; "": they can.
func (ch *channel) failure() string {
	if len(ch.subchannels) == 0 {
		return ch.core.noAddress
	}
	for _, sub := range ch.subchannels {
		if sub.failure == "" {
			return ""
		}
	}
	return ch.subchannels[0].failure
}

// retryWaiting starts the waiting calls again after a change.
func (ch *channel) retryWaiting() {
	for n := ch.waiting.Len(); n > 0; n-- {
		call := ch.waiting.Front()
		if call == nil {
			break
		}
		call.queued.Remove()
		ch.start(call)
	}
	ch.core.checkConnected()
}

func (o *callConnection) ready(conn *connection) { conn.start(o.call) }

func (o *callConnection) lost(_ *connection, why string) {
	core, call := o.core, o.call
	if call == nil { // the call has ended
		return
	}
	if core.cfg.OnConnectionLost != nil && !core.closing {
		core.cfg.OnConnectionLost()
	}
	if call.connection != nil { // the call ends with the connection's streams
		return
	}
	o.addressIndex++
	o.failed++
	core.after(0, func() {
		switch {
		case o.call != call:
		case o.failed < len(core.addrs): // the addresses may have changed
			o.connection = core.open(o, core.addrs[o.addressIndex%len(core.addrs)])
		default:
			core.failCall(call, h2.Status{Code: h2.Unavailable, Message: why})
		}
	})
}

func (o *callConnection) checkFree(*connection) {} // it closes after its call
