package h2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rpclab/internal/wire/list"
)

// Handler handles the events of a connection. Its methods may call Start and Cancel.
type Handler interface {
	// Ready is called once, when the peer's SETTINGS have arrived.
	Ready()
	// Data is called when s.Headers has arrived, unless the stream ends with them, and when s.Body has
	// grown. The handler may remove data from the body.
	Data(s *Stream)
	// Done is called once for each stream that was started and not cancelled.
	Done(s *Stream)
	// Admitted is called when a stream can be sent that had to wait for the end of others. If it returns false, the
	// stream is not sent and no longer waits, as if it were cancelled.
	Admitted(s *Stream) (send bool)
	// Returned is called instead of Done for a stream that the peer did not process: the request
	// can be sent again (RFC 9113 section 8.7).
	Returned(s *Stream, why Status)
}

// Limits are what a connection accepts and offers; a zero means the default.
type Limits struct {
	StreamWindow uint32 // bytes of a response that are not consumed; 1 MiB
	ConnWindow   uint32 // of all responses; 16 MiB
	HeaderList   uint32 // bytes of a decoded header list, as RFC 9113 section 6.5.2 counts; 16 MiB
	Body         int    // bytes of a response body; 4 MiB and a message prefix
	Streams      uint32 // open at once, if the peer allows more; 2³¹-1
	Backend      string // field whose value becomes [Head.Backend]
}

// Conn is the client side of a connection. Only one goroutine may use it.
type Conn struct {
	handler Handler
	limits  Limits
	out     []byte
	in      []byte // start of a frame whose rest is to come
	err     error

	settingsReceived  bool // the peer's settings were seen
	maxStreams        uint32
	streamWindow      int64 // initial, of streams
	maxFrame          int   // largest payload that the peer accepts
	noTable           bool  // the peer has no (sufficient) table: plain requests
	announceTableSize bool  // say so in the next block
	indexedRequest    *Request
	sendWindow        int64
	consumed          uint32 // bytes received since our last WINDOW_UPDATE
	acks              int    // to PING and SETTINGS, in out

	nextID    uint32
	open      streamTable
	waiting   list.List[Stream] // not sent for want of a free stream
	blocked   list.List[Stream] // sent in part for want of a window, or because out was full
	sentReset bool              // we reset a stream once: frames for it may still arrive

	gotGoAway    bool
	goAwayReason string

	heads     *headerDecoder
	blockOf   frame // first frame of the header block that is not complete; stream 0: none
	fragments int
}

const (
	maxAcks      = 1000 // acks that wait to be written: more are a flood
	maxAck       = 17   // bytes of the longest ack
	maxFragments = 64   // frames of a header block with less than minFragment bytes on average: more are a flood
	minFragment  = 1 << 10
)

// New returns a connection whose output holds the preface.
func New(h Handler, l Limits) *Conn {
	set(&l.StreamWindow, 1<<20)
	set(&l.ConnWindow, 16<<20)
	set(&l.HeaderList, 16<<20)
	set(&l.Body, 4<<20+5)
	set(&l.Streams, maxStreamID)
	c := &Conn{
		handler: h, limits: l, nextID: 1, heads: newHeaderDecoder(l.Backend, l.HeaderList),
		maxStreams: l.Streams, streamWindow: initialWindow, maxFrame: maxFrame, sendWindow: initialWindow,
	}
	c.out = append(c.out, preface...)
	c.out = appendFrame(c.out, 18, frameSettings, 0, 0)
	for _, s := range [...]struct {
		id    uint16
		value uint32
	}{{settingPush, 0}, {settingWindow, l.StreamWindow}, {settingHeaderList, l.HeaderList}} {
		c.out = binary.BigEndian.AppendUint16(c.out, s.id)
		c.out = binary.BigEndian.AppendUint32(c.out, s.value)
	}
	if l.ConnWindow > initialWindow {
		c.out = appendUint32(c.out, frameWindowUpdate, 0, l.ConnWindow-initialWindow)
	}
	return c
}

func set[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// Out returns the bytes to write. They are valid until the next call.
func (c *Conn) Out() []byte { return c.out }

// Usable reports whether new streams can be started.
func (c *Conn) Usable() bool {
	return c.settingsReceived && c.err == nil && !c.gotGoAway && c.nextID <= maxStreamID
}

// Active returns the number of streams that were started and have not ended.
func (c *Conn) Active() int { return c.open.n + c.waiting.Len() }

// GoAway returns the reason in the peer's GOAWAY; "": there was none.
func (c *Conn) GoAway() string { return c.goAwayReason }

// ErrClosed is the error of a connection that was closed by this side.
var ErrClosed = errors.New("the connection is closed")

// String is for logs and failed tests.
func (c *Conn) String() string {
	return fmt.Sprintf("%d open, %d waiting, next stream %d, error %v", c.open.n, c.waiting.Len(), c.nextID, c.err)
}

// stream returns the open stream of a frame. It returns nil without an error for a stream that
// ended before the frame arrived.
func (c *Conn) stream(f frame) (*Stream, error) {
	if s := c.open.find(f.stream); s != nil {
		return s, nil
	}
	switch {
	case f.stream == 0:
		return nil, violation(ProtocolError, "frame type %d on stream 0", f.kind)
	case f.stream&1 == 0 || f.stream >= c.nextID:
		return nil, violation(ProtocolError, "frame type %d on stream %d, which was never opened", f.kind, f.stream)
	case !c.sentReset && (f.kind == frameData || f.kind == frameHeaders):
		return nil, violation(StreamClosed, "frame type %d on stream %d, which has ended", f.kind, f.stream)
	}
	return nil, nil
}
