package wire

import (
	"slices"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h2"
)

// channel keeps connections for calls, as a gRPC channel does: one to the first
// address that works, or one to each.
type channel struct {
	core    *core
	lazy    bool // connects at its first call
	subs    []*sub
	turn    int
	waiting chain.List[call] // for a connection
}

// sub keeps one connection to one of its addresses, which it tries in order.
type sub struct {
	channel *channel
	addrs   []string
	at      int // the address that is tried or used
	link    *link
	isReady bool
	since   time.Duration // when it became ready
	failed  string        // why, from a failure until the next success
	backoff time.Duration
	removed bool
	idle    bool // not open for want of calls: the next one opens it
}

// Waits between attempts grow as the gRPC connection backoff protocol says, except
// that they begin smaller, since everything here is near.
const (
	backoffFirst  = 100 * time.Millisecond
	backoffFactor = 1.6
	backoffMost   = 10 * time.Second
)

// update follows the addresses: new ones get connections, connections to those that
// are gone finish what they have.
func (ch *channel) update(addrs []string) {
	groups := [][]string{addrs}
	if len(addrs) == 0 {
		groups = nil
	}
	if ch.core.cfg.Spread {
		groups = nil
		for _, a := range addrs {
			groups = append(groups, []string{a})
		}
	}
	old := ch.subs
	ch.subs = nil
	var opened []*sub
	for _, group := range groups {
		i := slices.IndexFunc(old, func(s *sub) bool { return !ch.core.cfg.Spread || s.addrs[0] == group[0] })
		if i < 0 {
			s := &sub{channel: ch, addrs: group}
			ch.subs, opened = append(ch.subs, s), append(opened, s)
			continue
		}
		old[i].move(group)
		ch.subs = append(ch.subs, old[i])
		old = slices.Delete(old, i, i+1)
	}
	for _, s := range opened {
		if s.idle = ch.lazy; !s.idle {
			s.connect()
		}
	}
	for _, s := range old {
		s.removed = true
		if s.link != nil {
			s.link.drain("the address was removed")
		}
	}
	ch.settle()
}

// move gives a sub other addresses. Its connection stays if its address does.
func (s *sub) move(addrs []string) {
	s.addrs, s.at = addrs, 0
	l := s.link
	if l == nil {
		return
	}
	if i := slices.Index(addrs, l.addr); i >= 0 {
		s.at = i
		return
	}
	s.link, s.isReady = nil, false
	l.drain("the address was removed")
	s.connect()
}

func (s *sub) connect() {
	if s.removed || s.link != nil {
		return
	}
	s.idle = false
	s.link = s.channel.core.open(s, s.addrs[s.at%len(s.addrs)])
}

func (s *sub) ready(*link) {
	s.isReady, s.failed, s.backoff = true, "", 0
	s.since = s.channel.core.now
	s.channel.settle()
}

func (s *sub) lost(l *link, why string) {
	if s.link != l {
		return
	}
	wasReady := s.isReady
	s.link, s.isReady = nil, false
	if s.removed {
		return
	}
	if l.idle {
		s.idle, s.at = true, 0
		return
	}
	core := s.channel.core
	if core.cfg.Lost != nil && !core.closing {
		core.cfg.Lost()
	}
	switch {
	case core.closing:
	case wasReady && l.useful: // at once, from the first address on
		s.at = 0
		core.after(0, s.connect)
	case wasReady: // nor too often to a server that always closes
		s.at = 0
		core.after(max(0, backoffFirst-(core.now-s.since)), s.connect)
	case s.at+1 < len(s.addrs):
		s.at++
		core.after(0, s.connect)
	default:
		s.at, s.failed = 0, why
		s.backoff = min(max(backoffFirst, time.Duration(float64(s.backoff)*backoffFactor)), backoffMost)
		core.after(s.backoff, s.connect)
		s.channel.settle()
	}
}

// start makes a call on the next connection that is ready. While none is, the call
// waits if one may come, and fails otherwise: gRPC's default, not "wait for ready".
func (ch *channel) start(c *call) {
	if s := ch.pick(); s != nil {
		s.link.start(c)
		return
	}
	if why := ch.hopeless(); why != "" {
		ch.core.failed(c, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	ch.waiting.Push(c, &c.queued)
}

func (ch *channel) pick() *sub {
	for range ch.subs {
		s := ch.subs[ch.turn%len(ch.subs)]
		ch.turn++
		if s.isReady && s.link != nil && s.link.conn.Usable() {
			return s
		}
		if s.idle {
			s.connect()
		}
	}
	return nil
}

// stands says whether every connection stands, or has done so and is idle, and why that
// cannot be.
func (ch *channel) stands() (all bool, why string) {
	if len(ch.subs) == 0 {
		return false, ch.core.nowhere
	}
	for _, s := range ch.subs {
		if s.failed != "" {
			return false, s.failed
		}
		if !s.isReady && !s.idle {
			return false, ""
		}
	}
	return true, ""
}

// hopeless says why calls cannot wait; "" when they can.
func (ch *channel) hopeless() string {
	if len(ch.subs) == 0 {
		return ch.core.nowhere
	}
	for _, s := range ch.subs {
		if s.failed == "" {
			return ""
		}
	}
	return ch.subs[0].failed
}

// settle goes on with the calls that waited, once something has changed.
func (ch *channel) settle() {
	for n := ch.waiting.Len(); n > 0; n-- {
		c := ch.waiting.First()
		if c == nil {
			break
		}
		c.queued.Leave()
		ch.start(c)
	}
	ch.core.connected()
}

// single is the connection of one call.
type single struct {
	core *core
	call *call
	link *link
	at   int
}

func (o *single) ready(l *link) { l.start(o.call) }

func (o *single) lost(_ *link, why string) {
	core, c := o.core, o.call
	if c == nil { // it is over
		return
	}
	if core.cfg.Lost != nil && !core.closing {
		core.cfg.Lost()
	}
	if c.link != nil { // it ends with the connection's streams
		return
	}
	o.at++
	core.after(0, func() {
		switch {
		case o.call != c:
		case !core.cfg.Spread && o.at < len(core.addrs): // there may be others by now
			o.link = core.open(o, core.addrs[o.at])
		default:
			core.failed(c, h2.Status{Code: h2.Unavailable, Message: why})
		}
	})
}
