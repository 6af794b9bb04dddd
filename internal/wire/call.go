package wire

import (
	"math/rand/v2"
	"time"

	"rpclab/internal/wire/h2"
)

// call is one call under way. It is used again for the next.
type call struct {
	stream         h2.Stream
	n              uint64
	user           int
	due, sent      time.Duration // since the core's epoch
	link           *link         // where its stream is; nil: nowhere yet
	channel        *channel      // in whose queue it may be
	single         *single       // its own connection
	buffer, batch  []byte
	streaming      streaming
	attempts       int
	prev, next     *call // in one of the queues, or in the free list
	queue          *calls
	before, after_ *call // in the order of deadlines
}

// calls is a queue.
type calls struct {
	first, last *call
	n           int
}

func (q *calls) push(c *call) {
	c.prev, c.next, c.queue = q.last, nil, q
	if q.last != nil {
		q.last.next = c
	} else {
		q.first = c
	}
	q.last = c
	q.n++
}

func (q *calls) remove(c *call) {
	if c.queue != q {
		return
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		q.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		q.last = c.prev
	}
	c.prev, c.next, c.queue = nil, nil, nil
	q.n--
}

// underway is the calls in flight in the order in which they were sent. All have the
// same timeout, so that is the order of their deadlines too.
type underway struct {
	first, last *call
	n           int
}

func (u *underway) push(c *call) {
	c.before, c.after_ = u.last, nil
	if u.last != nil {
		u.last.after_ = c
	} else {
		u.first = c
	}
	u.last = c
	u.n++
}

func (u *underway) remove(c *call) {
	if c.before != nil {
		c.before.after_ = c.after_
	} else {
		u.first = c.after_
	}
	if c.after_ != nil {
		c.after_.before = c.before
	} else {
		u.last = c.before
	}
	c.before, c.after_ = nil, nil
	u.n--
}

// mostAttempts of a call that servers give back without having looked at it.
const mostAttempts = 5

func (l *link) start(c *call) {
	c.link = l
	c.stream.Reset()
	if s := l.core.call.Stream; s != nil {
		c.stream.More = c.streaming.sent < s.Messages
	}
	l.conn.Start(&c.stream)
	l.core.touch(l)
}

// begin makes a call. It is sent from now on, even if it has to wait for a connection
// or a stream: that wait is the system's, not the generator's.
func (c *core) begin(n uint64, user int, due time.Duration) {
	k := c.free
	if k == nil {
		k = &call{}
		k.stream.Owner = k
		k.stream.Request = c.request
	} else {
		c.free = k.next
		k.next = nil
	}
	k.n, k.user, k.due, k.sent, k.attempts = n, user, due, c.now, 0
	k.stream.Payload = c.payload(n, k.buffer)
	if c.call.Make != nil {
		k.buffer = k.stream.Payload
	}
	if c.call.Stream != nil {
		c.beginStream(k)
	}
	c.underway.push(k)
	c.place(k)
}

// place gives a call to a channel, or a connection of its own.
func (c *core) place(k *call) {
	k.link, k.channel = nil, nil
	if c.cfg.PerCall {
		c.placeAlone(k)
		return
	}
	which := k.n / uint64(c.cfg.Cores)
	if c.cfg.Sticky && k.user >= 0 {
		which = uint64(k.user)
	}
	k.channel = c.channels[which%uint64(len(c.channels))]
	if c.call.old() && !c.cfg.Sticky {
		k.channel = c.idle(which)
	}
	k.channel.start(k)
}

// mostLooked bounds the search for an idle connection among many that are not.
const mostLooked = 64

// idle is a channel with a connection that carries no call, from a number on. Over
// HTTP/1.1 a call behind another waits for its answer.
func (c *core) idle(from uint64) *channel {
	all := uint64(len(c.channels))
	for i := range min(all, mostLooked) {
		ch := c.channels[(from+i)%all]
		for _, s := range ch.subs {
			if s.isReady && s.link != nil && s.link.conn.Usable() && s.link.conn.Active() == 0 {
				return ch
			}
		}
	}
	return c.channels[from%all]
}

func (c *core) placeAlone(k *call) {
	if len(c.addrs) == 0 {
		if c.nowhere != "" {
			c.failed(k, h2.Status{Code: h2.Unavailable, Message: c.nowhere})
			return
		}
		c.unplaced.push(k)
		return
	}
	o := &single{core: c, call: k}
	if c.cfg.Spread {
		o.at = rand.IntN(len(c.addrs)) // as gRPC's round robin begins
	}
	k.single = o
	o.link = c.open(o, c.addrs[o.at%len(c.addrs)])
}

// returned is a call that can be made again elsewhere.
func (c *core) returned(k *call, why h2.Status) {
	k.link = nil
	if k.attempts++; k.attempts >= mostAttempts || c.closing {
		c.failed(k, why)
		return
	}
	if k.single != nil {
		k.single.call = nil
		k.single.link.drain("")
		k.single = nil
	}
	c.retry.push(k) // in the next turn: the connection that gave it back is busy saying so
}

// answered is a call whose stream has ended.
func (c *core) answered(k *call) {
	var message []byte
	var status h2.Status
	switch {
	case c.call.HTTP != nil:
		message, status = k.stream.Body, ofHTTP(&k.stream)
	case c.call.Stream != nil:
		status = c.endOfStream(k)
	default:
		message, status = c.unpack.unary(&k.stream)
	}
	backend := ""
	if k.stream.Trailer != nil {
		backend = k.stream.Trailer.Backend
	}
	if backend == "" && k.stream.Head != nil {
		backend = k.stream.Head.Backend
	}
	if status.Code == h2.OK && c.call.Check != nil && c.call.Stream == nil {
		if err := c.call.Check(k.n, message, backend); err != nil {
			status = h2.Status{Code: h2.DataLoss, Message: err.Error()}
		}
	}
	c.end(k, backend, status)
}

func (c *core) failed(k *call, why h2.Status) { c.end(k, "", why) }

// giveUp ends a call from this side.
func (c *core) giveUp(k *call, why h2.Status) {
	if k.link != nil && k.link.conn != nil {
		k.link.conn.Cancel(&k.stream)
		k.link.review()
	}
	c.end(k, "", why)
}
