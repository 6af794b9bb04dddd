package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"rpclab/internal/wire/h2"
)

func newCore(ctx context.Context, cfg Config, call Call, index int) (*core, error) {
	if err := errors.Join(call.HTTP.check(), checkStream(call.Stream, call), call.Session.check(cfg, call)); err != nil {
		return nil, err
	}
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	core := &core{
		cfg: cfg, call: call, index: index,
		ctx: ctx, epoch: time.Now(), poll: poll, buffer: make([]byte, readBuffer),
		limits:  h2.Limits{Body: cfg.MaxMessage + messagePrefix, Backend: call.Backend, Streams: uint32(cfg.MaxStreams), HeaderList: uint32(cfg.MaxHeaderList)},
		decoder: messageDecoder{limit: cfg.MaxMessage}, spareThread: cfg.Cores < runtime.GOMAXPROCS(0),
		keepAlive: cfg.KeepAlive,
	}
	if call.Stream != nil || call.Session != nil {
		core.limits.Body += 16 << 10 // the frame that ends a message may also hold others
	}
	core.endOverdueStream = core.endOverdue
	if err := core.prepare(); err != nil {
		poll.close()
		return nil, err
	}
	switch {
	case cfg.ConnectionPerCall:
	case call.isHTTP1():
		core.pool = newPool(core)
	default:
		for i := index; i < cfg.Channels; i += cfg.Cores {
			core.channels = append(core.channels, &channel{core: core})
		}
	}
	return core, nil
}

// prepare prepares what all calls share.
func (c *core) prepare() (err error) {
	c.authority, c.scheme = c.call.Authority, "http"
	if c.authority == "" && len(c.cfg.Addresses) > 0 {
		c.authority = c.cfg.Addresses[0]
	}
	if c.cfg.TLS != nil {
		c.scheme = "https"
	}
	switch {
	case c.cfg.Timeout > 1000*time.Hour:
		return errors.New("wire: the timeout is longer than 1000 hours")
	case c.call.Session != nil && (c.call.AppendMetadata != nil || c.call.Gzip):
		return errors.New("wire: a session has neither metadata of each call nor compression")
	case c.call.Mix != nil && (c.call.Session != nil || c.call.Stream != nil):
		return errors.New("wire: a mix is of unary calls of gRPC, or of HTTP requests")
	case c.call.AppendPath != nil && c.call.HTTP == nil:
		return errors.New("wire: only HTTP requests have a path of their own")
	case c.call.HTTP != nil && c.call.Gzip:
		return errors.New("wire: only the messages of gRPC are compressed")
	}
	if c.request, c.requestHead, err = c.head(0, "", nil, c.cfg.Timeout); err != nil {
		return err
	}
	if mix := c.call.Mix; mix != nil {
		c.requests, c.heads = make([]*h2.Request, len(mix.Kinds)), make([][]byte, len(mix.Kinds))
		for kind := range mix.Kinds {
			if c.requests[kind], c.heads[kind], err = c.head(kind, "", nil, c.cfg.Timeout); err != nil {
				return err
			}
		}
	}
	switch {
	case c.call.isHTTP1():
		c.payload = appendHTTP(nil, c.requestHead, c.call.Message)
	case c.call.HTTP != nil:
		c.payload = c.call.Message
	case c.call.Gzip:
		c.payload, err = c.compressor.frame(nil, c.call.Message)
	default:
		c.payload = frame(c.call.Message)
	}
	if c.call.Session != nil {
		c.session = newSession(c, c.call.Session, func(method string, limit time.Duration, more []h2.Field) (*h2.Request, error) {
			call := c.call
			call.Method, call.Metadata = method, slices.Concat(call.Metadata, more)
			return call.request(c.scheme, c.authority, limit)
		})
	}
	return err
}

// loop runs the thread. Each turn reads, dials, starts the calls that are due, and writes.
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
		c.dialNext()
		if c.load != nil {
			c.load.turn()
		}
		c.flush()
		c.poll.pollOnce(c)
	}
	c.finish()
}

// pollOnce waits for an event or the next deadline and reads from the connections that have data.
func (p *poller) pollOnce(core *core) {
	for i := range p.wait(core.untilNext(), core.mayHoldProcessor()) {
		slot, gen, read, write := p.event(i)
		if slot < 0 {
			continue // each turn runs the tasks
		}
		if conn := core.connections[slot]; conn != nil && conn.generation == gen {
			conn.onPoll(read, write)
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
	if c.mayDial() {
		sooner(c.nextDial)
	}
	if conn := c.dialing.Front(); conn != nil {
		sooner(conn.opened + c.cfg.ConnectTimeout)
	}
	if call := c.inFlight.Front(); call != nil && c.cfg.Timeout > 0 {
		sooner(call.started + c.cfg.Timeout)
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
	for conn := c.dialing.Front(); conn != nil && conn.opened+c.cfg.ConnectTimeout <= c.now; conn = c.dialing.Front() {
		conn.fail(fmt.Errorf("no connection within %s", c.cfg.ConnectTimeout))
	}
	if c.cfg.Timeout == 0 {
		return
	}
	for call := c.inFlight.Front(); call != nil && call.started+c.cfg.Timeout <= c.now; call = c.inFlight.Front() {
		conn, started := call.connection, call.started
		c.cancelCall(call, c.deadlineExceeded(call))
		if conn != nil {
			conn.failIfUnread(started)
		}
	}
}

// placeRetries sends the calls again that a connection gave back, and the next calls of flows.
func (c *core) placeRetries() {
	for n := c.retry.Len(); n > 0 && c.retry.Len() > 0; n-- {
		call := c.retry.Front()
		call.queued.Remove()
		if call.flow != nil && call.flow.next {
			c.placeNext(call)
			continue
		}
		c.place(call)
	}
}

// flush writes the pending output of the connections, together if there are several.
func (c *core) flush() {
	if len(c.unflushed) > 1 {
		for _, conn := range c.unflushed {
			conn.queueWrite()
		}
		c.poll.sendQueued()
	}
	for i := 0; i < len(c.unflushed); i++ { // a failed flush may mark another connection
		conn := c.unflushed[i]
		conn.unflushed = false
		conn.flush()
	}
	c.unflushed = c.unflushed[:0]
}

// finish ends the core.
func (c *core) finish() {
	c.tasks.close()
	if c.load != nil {
		c.load.cancel()
		c.load.turn()
	}
	for _, conn := range slices.Clone(c.connections) {
		if conn != nil {
			conn.draining = true // its owner does not replace it
			conn.close(h2.Status{Code: h2.Cancelled, Message: ErrClosed.Error()})
		}
	}
	if c.connectResult != nil {
		c.reportConnected(ErrClosed)
	}
	c.workers.Wait()
	c.poll.close()
}
