package wire

import (
	"math/rand/v2"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h2"
)

// call is one call under way. It is used again for the next.
type call struct {
	stream        h2.Stream
	n             uint64
	user          int           // of a closed pace, or -1
	place         int           // among the calls of all cores; kept when used again
	due, sent     time.Duration // since the core's epoch
	link          *link         // where its stream is; nil: nowhere yet
	channel       *channel      // in whose queue it may be
	single        *single       // its own connection
	buffer, batch []byte
	streaming     streaming
	asking        *asking    // nil: it is no question
	listening     *listening // nil: it is a call; else a stream of a talk
	attempts      int
	queued        chain.Link[call] // waits for a connection, an address or another try
	flying        chain.Link[call] // among the calls under way
	next          *call            // in the free list
}

// mostAttempts to send a call that servers give back without having looked at it. One
// that only waited for a stream on a shared connection was not sent: it waits on.
const mostAttempts = 5

func (l *link) start(c *call) {
	if t := l.core.talk; t != nil && t.Streams == 0 && c.listening == nil && !t.hears(l, c) {
		return
	}
	c.link, l.used = l, l.core.now
	c.stream.Reset()
	if s := l.core.call.Stream; s != nil {
		c.stream.More = c.streaming.sent < s.Messages
	}
	if s := c.listening; s != nil {
		c.stream.More = s.at >= 0
	}
	l.conn.Start(&c.stream)
	l.core.touch(l)
}

// begin makes a call. It is sent from now on, even if it has to wait for a connection
// or a stream: that wait is the system's, not the generator's.
func (c *core) begin(n uint64, user int, due time.Duration) {
	k := c.free
	if k == nil {
		k = &call{place: c.index + c.made*c.cfg.Cores}
		c.made++
		k.stream.Owner = k
		k.stream.Request = c.request
	} else {
		c.free = k.next
		k.next = nil
	}
	k.n, k.user, k.due, k.sent, k.attempts = n, user, due, c.now, 0
	if c.call.Began != nil {
		c.call.Began()
	}
	c.underway.Push(k, &k.flying)
	if err := c.prepareMessage(k); err != nil {
		c.failed(k, h2.Status{Code: h2.Internal, Message: "the message cannot be made: " + err.Error()})
		return
	}
	c.place(k)
}

// prepareMessage makes what a call sends.
func (c *core) prepareMessage(k *call) (err error) {
	if c.talk != nil {
		return c.talk.ask(k)
	}
	k.stream.Payload = c.fixed
	if c.call.Make != nil {
		worker := k.user
		if worker < 0 {
			worker = k.place
		}
		if k.buffer, err = c.payload(k.n, worker, k.buffer[:0]); err != nil {
			return err
		}
		k.stream.Payload = k.buffer
	}
	if c.call.Stream != nil {
		c.beginStream(k)
	}
	return nil
}

// payload appends what call n sends.
func (c *core) payload(n uint64, worker int, to []byte) (_ []byte, err error) {
	switch {
	case c.call.old():
		if c.scratch, err = c.call.Make(n, worker, c.scratch[:0]); err != nil {
			return to, err
		}
		return appendHTTP(to, c.head, c.scratch), nil
	case c.call.HTTP != nil:
		return c.call.Make(n, worker, to)
	}
	if to, err = c.call.Make(n, worker, append(to, 0, 0, 0, 0, 0)); err != nil {
		return to, err
	}
	return frameInPlace(to), nil
}

// place gives a call to a channel, or a connection of its own.
func (c *core) place(k *call) {
	k.link, k.channel = nil, nil
	if t := c.talk; t != nil && t.Streams > 0 && k.listening == nil {
		t.say(k)
		return
	}
	if c.cfg.PerCall {
		c.placeAlone(k)
		return
	}
	if c.cfg.PerUser && k.user >= 0 {
		k.channel = c.channelOf(k.user)
		k.channel.start(k)
		return
	}
	if c.pool != nil {
		c.pool.start(k)
		return
	}
	which := k.n / uint64(c.cfg.Cores)
	if c.cfg.Sticky && k.user >= 0 {
		which = uint64(k.user)
	}
	k.channel = c.channels[which%uint64(len(c.channels))]
	k.channel.start(k)
}

// channelOf is a user's own.
func (c *core) channelOf(user int) *channel {
	n := user / c.cfg.Cores
	for len(c.users) <= n {
		c.users = append(c.users, nil)
	}
	if c.users[n] == nil {
		c.users[n] = &channel{core: c, lazy: true}
		c.users[n].update(c.addrs)
	}
	return c.users[n]
}

func (c *core) placeAlone(k *call) {
	if len(c.addrs) == 0 {
		if c.nowhere != "" {
			c.failed(k, h2.Status{Code: h2.Unavailable, Message: c.nowhere})
			return
		}
		c.unplaced.Push(k, &k.queued)
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
	if s := k.listening; s != nil && (s.at < 0 || k.stream.Sent()) {
		c.talk.ended(k, why)
		return
	}
	k.link = nil
	if c.talk != nil {
		c.talk.forget(k)
	}
	if k.stream.Sent() || k.single != nil {
		k.attempts++
	}
	if k.attempts >= mostAttempts || c.closing {
		c.failed(k, why)
		return
	}
	if k.single != nil {
		k.single.call = nil
		k.single.link.drain("")
		k.single = nil
	}
	c.retry.Push(k, &k.queued) // in the next turn: the connection that gave it back is busy saying so
}

// answered is a call whose stream has ended.
func (c *core) answered(k *call) {
	if k.listening != nil {
		c.talk.ended(k, statusOf(&k.stream))
		return
	}
	var message []byte
	var status h2.Status
	switch {
	case c.call.HTTP != nil:
		message, status = k.stream.Body, c.call.HTTP.outcome(&k.stream)
	case c.call.Stream != nil:
		status = c.endOfStream(k)
	default:
		message, status = c.unpack.unary(&k.stream)
	}
	if status.Code == h2.Cancelled && k.stream.Failed.Code != h2.OK && c.cfg.Timeout > 0 && k.sent+c.cfg.Timeout <= c.now {
		status = c.tooLate() // the server, which knows the deadline too, was the first to say so
	}
	if c.talk != nil {
		c.talk.taken(k, status)
		return
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

func (c *core) tooLate() h2.Status {
	return h2.Status{Code: h2.DeadlineExceeded, Message: "no answer within " + c.cfg.Timeout.String()}
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
