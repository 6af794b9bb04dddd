package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"rpclab/internal/wire/h2"
	"rpclab/internal/wire/list"
)

// core is one thread of the engine with its connections, calls and clock. Only that thread uses
// it, except for tasks.
type core struct {
	cfg         Config
	call        Call
	request     *h2.Request
	payload     []byte // of every call without AppendMessage
	requestHead []byte // of a request by HTTP/1.1
	scratch     []byte
	limits      h2.Limits
	index       int // 0 to Cores-1

	ctx     context.Context // is done when the engine is closed
	epoch   time.Time       // all times count from here
	now     time.Duration   // the last reading of the clock
	poll    *poller
	buffer  []byte // for reads
	workers sync.WaitGroup
	tasks   taskQueue
	timers  timers
	closing bool

	addrs        []string
	noAddress    string // why there is no address; "": not yet resolved
	channels     []*channel
	userChannels []*channel // by the user's number on this core; nil: no call yet
	pool         *pool      // replaces channels with HTTP/1.1
	sourcesUsed  int

	connections    []*connection // by slot
	freeCalls      *call
	callsAllocated int // in use or in freeCalls
	freeSlots      []int32
	generation     int32
	unflushed      []*connection
	spareThread    bool // Go may run more threads than there are cores
	netConns       int  // connections with goroutines
	toDial         []*connection
	dialing        list.List[connection] // oldest first
	nextDial       time.Duration
	dialTimerSet   bool // a timer will open the next connection

	keepAlive time.Duration // a server may double the interval; 0: none

	// inFlight has the oldest call first. All have the same timeout, so it is also the order of
	// deadlines.
	inFlight          list.List[call]
	retry             list.List[call]
	waitingForAddress list.List[call] // until an address is known
	decoder           messageDecoder
	session           *session     // nil: each call has its own response
	connectResult     chan<- error // receives nil when all connections are open, or an error
	channelsConnected int          // channels, from the first on, that were found connected
	load              *load        // nil: between loads
	stats             Stats
}

func newCore(ctx context.Context, cfg Config, call Call, index int) (*core, error) {
	if err := errors.Join(call.HTTP.check(), call.Stream.check(call), call.Session.check(cfg, call)); err != nil {
		return nil, err
	}
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	c := &core{
		cfg: cfg, call: call, index: index,
		ctx: ctx, epoch: time.Now(), poll: poll, buffer: make([]byte, readBuffer),
		limits:  h2.Limits{Body: cfg.MaxMessage + messagePrefix, Backend: call.Backend, Streams: uint32(cfg.MaxStreams)},
		decoder: messageDecoder{limit: cfg.MaxMessage}, spareThread: cfg.Cores < runtime.GOMAXPROCS(0),
		keepAlive: cfg.KeepAlive,
	}
	if call.Stream != nil || call.Session != nil {
		c.limits.Body += 16 << 10 // the frame that ends a message may also hold others
	}
	if err := c.prepare(); err != nil {
		poll.close()
		return nil, err
	}
	switch {
	case cfg.ConnectionPerCall:
	case call.isHTTP1():
		c.pool = newPool(c)
	default:
		for i := index; i < cfg.Channels; i += cfg.Cores {
			c.channels = append(c.channels, &channel{core: c})
		}
	}
	return c, nil
}

// loop runs the thread. Each turn reads, starts the calls that are due, and writes.
func (c *core) loop() {
	runtime.LockOSThread() // and never unlocked: the thread and its timer slack end with the goroutine
	c.poll.setTimerSlack()
	if c.cfg.Yield {
		c.poll.lowerPriority()
	}
	for !c.closing {
		c.now = time.Since(c.epoch)
		c.tasks.runAll()
		c.timers.fire(c.now)
		c.expire()
		c.placeRetries()
		if c.load != nil {
			c.load.turn()
		}
		c.flush()
		c.poll.pollOnce(c)
	}
	c.finish()
}

// pollOnce waits for an event or the next deadline and reads from the connections that have data.
func (p *poller) pollOnce(c *core) {
	for i := range p.wait(c.untilNext(), c.mayHoldProcessor()) {
		slot, gen, read, write := p.event(i)
		if slot < 0 {
			continue // each turn runs the tasks
		}
		if l := c.connections[slot]; l != nil && l.generation == gen {
			l.onPoll(read, write)
		}
	}
}

// mayHoldProcessor reports whether a wait may keep its place among Go's running goroutines: while
// a load runs, if Go has another thread for the other goroutines.
func (c *core) mayHoldProcessor() bool {
	return c.load != nil && c.netConns == 0 && c.spareThread
}

// untilNext returns the time to the next deadline; below 0: there is none.
func (c *core) untilNext() time.Duration {
	if len(c.unflushed) > 0 || c.retry.Len() > 0 || c.tasks.hasTasks() || c.closing {
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
	if l := c.dialing.Front(); l != nil {
		sooner(l.opened + c.cfg.ConnectTimeout)
	}
	if k := c.inFlight.Front(); k != nil && c.cfg.Timeout > 0 {
		sooner(k.sent + c.cfg.Timeout)
	}
	if c.load != nil {
		if at, ok := c.load.nextDeadline(); ok {
			sooner(at)
		}
	}
	if next < 0 {
		return -1
	}
	return max(0, next-time.Since(c.epoch))
}

// expire ends the calls and connection attempts whose deadline has passed.
func (c *core) expire() {
	for l := c.dialing.Front(); l != nil && l.opened+c.cfg.ConnectTimeout <= c.now; l = c.dialing.Front() {
		l.fail(fmt.Errorf("no connection within %s", c.cfg.ConnectTimeout))
	}
	if c.cfg.Timeout == 0 {
		return
	}
	for k := c.inFlight.Front(); k != nil && k.sent+c.cfg.Timeout <= c.now; k = c.inFlight.Front() {
		c.cancelCall(k, c.deadlineExceeded())
	}
}

// placeRetries sends the calls again that a connection gave back.
func (c *core) placeRetries() {
	for n := c.retry.Len(); n > 0 && c.retry.Len() > 0; n-- {
		k := c.retry.Front()
		k.queued.Remove()
		c.place(k)
	}
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
	k.connection, k.channel = nil, nil
	k.next, c.freeCalls = c.freeCalls, k
}

func (c *core) markUnflushed(l *connection) {
	if !l.unflushed {
		l.unflushed = true
		c.unflushed = append(c.unflushed, l)
	}
}

func (c *core) flush() {
	for i := 0; i < len(c.unflushed); i++ { // a failed flush may mark another connection
		l := c.unflushed[i]
		l.unflushed = false
		l.flush()
	}
	c.unflushed = c.unflushed[:0]
}

func (c *core) after(d time.Duration, do func()) { c.timers.add(c.now+d, do) }

func (c *core) post(do func()) bool { return c.tasks.add(do, c.poll) }
