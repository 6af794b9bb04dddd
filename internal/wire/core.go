package wire

import (
	"context"
	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
	"rpclab/internal/wire/list"
	"sync"
	"sync/atomic"
	"time"
)

// This file declares the state of a core: its types refer to each other. The functions that use the
// state are in files that refer to each other one way. Where a lower file calls a higher one, there
// is an interface: connectionOwner, protocol, session.

// core is one thread of the engine with its connections, calls and clock. Only that thread uses
// it, except for tasks.
type core struct {
	cfg         Config
	call        Call
	scheme      string
	authority   string
	request     *h2.Request   // of every call without AppendMetadata
	requestHead []byte        // the same of a request by HTTP/1.1
	requests    []*h2.Request // request by the kind of a call; nil: there is no mix
	heads       [][]byte      // requestHead by the kind of a call
	payload     []byte        // of every call without AppendMessage
	scratch     []byte
	fields      []h2.Field
	compressor  compressor
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
	started      uint64 // calls of all loads
	before       uint64 // calls of the loads before this one

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

	keepAlive time.Duration // a server may double the interval; 0: none

	// inFlight has the oldest call first. All have the same timeout, so it is also the order of
	// deadlines.
	inFlight          list.List[call]
	retry             list.List[call]
	waitingForAddress list.List[call] // until an address is known
	decoder           messageDecoder
	session           session      // nil: each call has its own response
	connectResult     chan<- error // receives nil when all connections are open, or an error
	channelsConnected int          // channels, from the first on, that were found connected
	load              *load        // nil: between loads
	endOverdueStream  func(*call)  // its MaxDuration is over
}

// call is a call in flight. It is reused for later calls.
type call struct {
	stream        h2.Stream
	number        uint64
	user          int             // of a closed pace; -1: none
	index         int             // unique among all cores; the worker without a user
	due, started  time.Duration   // since the core's epoch; the deadline counts from started
	sent          time.Duration   // when its request was first sent; until then as started
	waits, waited bool            // for a stream or connection that other calls use
	connection    *connection     // of its stream; nil: none yet
	ownConnection *callConnection // for this call only; nil: none
	buffer, batch []byte
	streaming     streamState
	flow          *flow           // nil: one call
	request       *sessionRequest // of a session; nil: none
	sessionStream *sessionStream  // of a session; nil: a call of the load
	attempts      int
	refused       bool            // the server has refused its present request once
	resent        int             // requests that were sent again
	queued        list.Link[call] // waits for a connection, an address or a retry
	inFlight      list.Link[call] // in core.inFlight
	next          *call           // in core.freeCalls
}

// connection is one connection of a core, from its dial to its close. It implements [h2.Handler].
type connection struct {
	core       *core
	slot       int32
	generation int32 // distinguishes late events from those of the slot's next connection
	owner      connectionOwner
	addr       string
	remote     string // address of the peer, if the runtime dialed; empty: addr

	transport   transport             // nil: not connected
	socket      *socket               // the transport, if it is a socket
	protocol    protocol              // nil: not connected
	cancel      context.CancelFunc    // of the dial in progress
	opened      time.Duration         // when the dial began
	dialing     bool                  // until the server's SETTINGS have arrived
	dialLink    list.Link[connection] // in core.dialing
	unflushed   bool                  // is in core.unflushed
	draining    bool                  // closes after its last call
	closed      bool
	carriedCall bool // a call ended on it

	lastRead     time.Duration // time of the last read
	lastWrite    time.Duration // time of the last write that the system accepted in part at least
	lastPing     time.Duration // time of the last PING; 0: none
	lastUsed     time.Duration // when a call last started or ended
	pingInterval time.Duration // time without data before a PING; 0: no PINGs
	closedIdle   bool          // closed because it had no calls
	inPool       bool          // is in its pool's free list
	checkTimer   *timer        // next check of keepalive and idle time; nil: none

	responseStream *call // the session's stream of responses; nil: none
}

// connectionOwner asked for a connection.
type connectionOwner interface {
	ready(*connection)
	// lost is called once when the connection accepts no more new calls: it could not be opened,
	// broke, or its server sent GOAWAY.
	lost(conn *connection, why string)
	// checkFree is called after input and after a cancelled call: the connection may be free.
	checkFree(conn *connection)
}

// protocol is the protocol of a connection: [h2.Conn] or [h1.Conn].
type protocol interface {
	Feed(p []byte) error
	Out() []byte
	Wrote(n int)
	Start(stream *h2.Stream) (sent bool)
	Cancel(stream *h2.Stream)
	Abort(stream *h2.Stream, why h2.Status)
	Close(why h2.Status)
	Usable() bool
	Active() int
	GoAway() string
}

// channel keeps connections for calls, as a gRPC channel does: one connection to the first address
// that works (pick_first), or one to each address (round_robin).
type channel struct {
	core        *core
	lazy        bool // connects at its first call
	subchannels []*subchannel
	next        int
	waiting     list.List[call] // for a connection
}

// subchannel keeps one connection to one of its addresses, which it tries in order.
type subchannel struct {
	channel      *channel
	addrs        []string
	addressIndex int // of the address in use
	connection   *connection
	isReady      bool
	readySince   time.Duration // when it became ready
	failure      string        // of the last attempt; "": it succeeded
	backoff      time.Duration
	removed      bool
	idle         bool // closed because it had no calls; the next call opens it
}

// callConnection is a connection for one call.
type callConnection struct {
	core         *core
	call         *call
	connection   *connection
	addressIndex int
	failed       int // addresses that could not be connected to
}

// pool keeps connections that carry one call at a time, as those of HTTP/1.1 do. A call gets the
// connection that became free last, otherwise a new connection up to the limit, otherwise the
// first that becomes free.
type pool struct {
	core      *core
	limit     int // most connections
	initial   int // connections opened before the first call; 0: they were open
	connected int
	opening   int
	free      []*connection
	waiting   list.List[call]

	addressIndex int    // of the next address
	failedDials  int    // failed attempts in a row, each to another address
	lastFailure  string // during the backoff; "": no backoff
	backoff      time.Duration
}

// session makes calls the requests of a [Session]: *streamSession, which is above the calls and
// connections.
type session interface {
	// prepare makes a call a request.
	prepare(call *call) error
	// send sends a request on a bidirectional stream, or returns false if requests are unary calls.
	send(call *call) bool
	// mayStart reports whether a call may start on a connection now. If not, it waits for the
	// connection's stream of responses.
	mayStart(conn *connection, call *call) bool
	// receive handles the complete messages that have arrived on a stream.
	receive(call *call)
	unaryEnded(call *call, status h2.Status)
	streamEnded(call *call, why h2.Status)
	// stopAwaiting forgets the response to a request.
	stopAwaiting(call *call)
	// releaseDraining ends the streams of draining connections that nothing is awaited on.
	releaseDraining(conn *connection)
}

// sessionRequest is the state of a request.
type sessionRequest struct {
	id       uint64
	stream   *call // on which the response is due; nil: not sent, or the stream has ended
	accepted bool  // the unary call has ended with OK
	answered bool
	backend  string
	status   h2.Status
}

// sessionStream is the state of a call that is one of the session's streams, not a call of the
// load.
type sessionStream struct {
	index    int // of a bidirectional stream; -1: a stream of responses
	awaited  int // number of responses
	ready    bool
	requests list.List[call] // that wait for the stream
}

// flow is the state of a call of the load that is one call of each kind in turn. It is kept with the call.
type flow struct {
	kind     int            // of the call in flight
	next     bool           // that call is not prepared yet
	steps    []measure.Step // that have ended
	backends map[string]uint64
}

// streamState is the state of a call with a stream.
type streamState struct {
	message   []byte // with its prefix
	sent      int    // number of messages
	responses int
	lastSent  time.Duration
	failure   h2.Status // the first; OK: none
	enough    bool      // MaxResponses responses have arrived
	timer     *timer    // at which the client ends the stream; nil: none
}

// load is one core's part of a load.
type load struct {
	core      *core
	pace      Pace
	start     time.Duration // of the load, since the core's epoch
	ctx       context.Context
	shared    *loadShared
	recorder  *measure.Recorder
	done      chan<- struct{}
	over      bool // no more calls are due
	cancelled bool

	// With an open pace: the next call of this core, and when it and the call before are due.
	nextCall    uint64
	nextDue     time.Duration
	previousDue time.Duration

	// With a closed pace: the users whose next call is due, and those who think.
	idleUsers     userQueue
	thinkingUsers thinkingHeap
	activeUsers   int // users with calls left
}

// loadShared is shared by the cores of a load.
type loadShared struct {
	next     atomic.Uint64 // the next call of a closed pace
	inFlight atomic.Int64  // of an open pace
}

// streamSent starts the time after which the client ends a call's stream.
func (c *core) streamSent(call *call) {
	if most := c.call.Stream.MaxDuration; most > 0 && call.streaming.timer == nil {
		call.streaming.timer = c.timers.add(c.now+most, func() { c.endOverdueStream(call) })
	}
}

// isFirst reports whether a call is no flow, or the first call of one.
func (call *call) isFirst() bool { return call.flow == nil || call.flow.kind == 0 }

// admitted ends a call's wait for a stream or connection that other calls used. It returns false for a call that must not
// be sent, since it is about to end: its deadline has passed, or the load is cancelled. When many such calls end in turn,
// each would otherwise let the next one be sent, and the server would receive a request and a reset for each.
func (c *core) admitted(call *call) (send bool) {
	expired := c.cfg.Timeout > 0 && call.started+c.cfg.Timeout <= c.now
	cancelled := c.load != nil && c.load.cancelled
	if call.sessionStream == nil && (expired || cancelled) { // a session's stream has neither deadline nor load
		return false
	}
	call.waits = false
	if !call.isFirst() {
		return true
	}
	call.waited = true
	if call.attempts == 0 {
		sent := max(c.now, call.started) // the time of a read over TLS may be before the call
		call.sent, call.streaming.lastSent = sent, sent
	}
	if c.call.Stream != nil {
		c.streamSent(call)
	}
	return true
}

func (c *core) markUnflushed(conn *connection) {
	if !conn.unflushed {
		conn.unflushed = true
		c.unflushed = append(c.unflushed, conn)
	}
}

func (c *core) after(d time.Duration, do func()) { c.timers.add(c.now+d, do) }

func (c *core) post(do func()) bool { return c.tasks.add(do, c.poll) }
