package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h2"
)

// core is one thread of the engine: its connections, its calls and its clock.
// Everything in it belongs to that thread, except the inbox.
type core struct {
	cfg     Config
	call    Call
	request *h2.Request
	fixed   []byte // the payload of every call, unless the call makes its own
	head    []byte // of a request over HTTP/1.1
	scratch []byte
	limits  h2.Limits
	index   int // of Cores

	ctx     context.Context // ends with the engine
	epoch   time.Time       // its times count from here
	now     time.Duration   // the last time the clock was read
	poll    *poller
	buffer  []byte // for reading
	workers sync.WaitGroup
	inbox   inbox
	timers  timers
	closing bool

	addrs    []string
	nowhere  string // why there is no address; "" while that is not known
	channels []*channel
	users    []*channel // of users, by their number on this core; nil: he has made no call
	pool     *pool      // instead of channels, over HTTP/1.1
	sources  int

	links   []*link // by slot
	free    *call
	made    int // calls that can be used again, or are under way
	vacant  []int32
	gen     int32
	dirty   []*link
	spare   bool // Go runs more threads than there are cores
	std     int  // connections that need goroutines
	toDial  []*link
	opening chain.List[link] // in the order in which they began
	dialAt  time.Duration
	pacing  bool // a timer opens the next connection

	keepAlive time.Duration // the interval, which a server may double; 0: none

	// underway is in the order in which calls were sent. All have the same timeout, so
	// that is the order of their deadlines too.
	underway chain.List[call]
	retry    chain.List[call]
	unplaced chain.List[call] // for want of an address
	unpack   unpacker
	talk     *talk        // nil: calls are no questions
	waiter   chan<- error // told once all connections stand, or why not
	stood    int          // channels, from the first on, that were seen to stand since
	run      *run         // nil: between loads
	stats    Stats
}

func newCore(ctx context.Context, cfg Config, call Call, index int) (*core, error) {
	if err := errors.Join(call.HTTP.check(), call.Stream.check(call), call.Talk.check(cfg, call)); err != nil {
		return nil, err
	}
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	c := &core{
		cfg: cfg, call: call, index: index,
		ctx: ctx, epoch: time.Now(), poll: poll, buffer: make([]byte, readBuffer),
		limits: h2.Limits{Body: cfg.MaxMessage + prefix, Backend: call.Backend, Streams: uint32(cfg.Streams)},
		unpack: unpacker{most: cfg.MaxMessage}, spare: cfg.Cores < runtime.GOMAXPROCS(0),
		keepAlive: cfg.KeepAlive,
	}
	if call.Stream != nil || call.Talk != nil {
		c.limits.Body += 16 << 10 // the frame that ends a message may bring others
	}
	if err := c.prepare(); err != nil {
		poll.close()
		return nil, err
	}
	switch {
	case cfg.PerCall:
	case call.old():
		c.pool = newPool(c)
	default:
		for i := index; i < cfg.Channels; i += cfg.Cores {
			c.channels = append(c.channels, &channel{core: c})
		}
	}
	return c, nil
}

// loop is the thread. Each turn reads, starts what is due, and writes.
func (c *core) loop() {
	runtime.LockOSThread() // and never unlocks: the thread's timer slack ends with it
	c.poll.sharpen()
	if c.cfg.Yield {
		c.poll.yield()
	}
	for !c.closing {
		c.now = time.Since(c.epoch)
		c.inbox.do()
		c.timers.fire(c.now)
		c.expire()
		c.again()
		if c.run != nil {
			c.run.turn()
		}
		c.flush()
		c.poll.sleepThen(c)
	}
	c.finish()
}

// sleepThen waits until something happens or is due, and takes what came.
func (p *poller) sleepThen(c *core) {
	for i := range p.wait(c.sleep(), c.hold()) {
		slot, gen, read, write := p.event(i)
		if slot < 0 {
			continue // the inbox is looked at anyway
		}
		if l := c.links[slot]; l != nil && l.gen == gen {
			l.event(read, write)
		}
	}
}

// hold says whether a wait may keep its place among Go's running goroutines: while
// calls are under way, if there is a place left for others.
func (c *core) hold() bool {
	return c.run != nil && c.std == 0 && c.spare
}

// sleep is how long nothing will be due; below 0: without end.
func (c *core) sleep() time.Duration {
	if len(c.dirty) > 0 || c.retry.Len() > 0 || c.inbox.filled() || c.closing {
		return 0
	}
	next := time.Duration(-1)
	sooner := func(at time.Duration) {
		if next < 0 || at < next {
			next = max(at, 0)
		}
	}
	if at, ok := c.timers.next(); ok {
		sooner(at)
	}
	if l := c.opening.First(); l != nil {
		sooner(l.opened + c.cfg.ConnectTimeout)
	}
	if k := c.underway.First(); k != nil && c.cfg.Timeout > 0 {
		sooner(k.sent + c.cfg.Timeout)
	}
	if c.run != nil {
		if at, ok := c.run.next(); ok {
			sooner(at)
		}
	}
	if next < 0 {
		return -1
	}
	return max(0, next-time.Since(c.epoch))
}

// expire ends the calls and the attempts to connect whose time is up.
func (c *core) expire() {
	for l := c.opening.First(); l != nil && l.opened+c.cfg.ConnectTimeout <= c.now; l = c.opening.First() {
		l.broken(fmt.Errorf("not within %s", c.cfg.ConnectTimeout))
	}
	if c.cfg.Timeout == 0 {
		return
	}
	for k := c.underway.First(); k != nil && k.sent+c.cfg.Timeout <= c.now; k = c.underway.First() {
		c.giveUp(k, c.tooLate())
	}
}

// again makes the calls that were given back.
func (c *core) again() {
	for n := c.retry.Len(); n > 0 && c.retry.Len() > 0; n-- {
		k := c.retry.First()
		k.queued.Leave()
		c.place(k)
	}
}

// end is the end of a call, whatever became of it.
func (c *core) end(k *call, backend string, status h2.Status) {
	k.queued.Leave()
	if k.listening != nil {
		c.talk.ended(k, status)
		return
	}
	k.flying.Leave()
	if c.talk != nil {
		c.talk.forget(k)
	}
	if k.link != nil {
		k.link.used = c.now
	}
	if o := k.single; o != nil {
		o.call, k.single = nil, nil
		o.link.drain("")
	}
	if c.run != nil {
		c.run.record(k, backend, status)
	}
	k.link, k.channel = nil, nil
	k.next, c.free = c.free, k
}

func (c *core) touch(l *link) {
	if !l.dirty {
		l.dirty = true
		c.dirty = append(c.dirty, l)
	}
}

func (c *core) flush() {
	for i := 0; i < len(c.dirty); i++ { // a flush that fails may touch another
		l := c.dirty[i]
		l.dirty = false
		l.flush()
	}
	c.dirty = c.dirty[:0]
}

func (c *core) after(d time.Duration, do func()) { c.timers.add(c.now+d, do) }

func (c *core) post(do func()) bool { return c.inbox.put(do, c.poll) }
