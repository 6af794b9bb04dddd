package wiretest

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Method is the method of the calls in every scenario.
const Method = rpclabv1.Greeter_SayHello_FullMethodName

// violation is a protocol error of a client.
type violation struct{ what string }

func (v violation) Error() string { return v.what }

func violated(format string, args ...any) error { return violation{fmt.Sprintf(format, args...)} }

const (
	defaultWindow = 65535 // RFC 9113, section 6.5.2
	maxWindow     = 1<<31 - 1
)

// client is what the client of a connection did, and what it may do.
type client struct {
	begun   bool // its SETTINGS were seen
	lastID  uint32
	streams map[uint32]*stream // those that are open
	window  int64              // bytes of DATA that it may send on the connection
	initial int64              // the window of its new streams
	limit   int64              // streams that it may have open
	// The same as it has acknowledged them; see allow.
	ackedInitial, ackedLimit int64

	unacked   [][]http2.Setting // SETTINGS that it has not acknowledged
	acks      int
	headers   []byte // of a header block that is not complete
	headersID uint32
	ends      bool
	decoder   *hpack.Decoder

	// What it lets the server do.
	tableSize     uint32
	sendWindow    int64
	sendInitial   int64
	streamCredits map[uint32]int64
}

type stream struct {
	window int64
	body   []byte
}

func (c *client) init() {
	c.streams, c.streamCredits = map[uint32]*stream{}, map[uint32]int64{}
	c.window, c.initial, c.limit = defaultWindow, defaultWindow, maxWindow
	c.ackedInitial, c.ackedLimit = c.initial, c.limit
	c.tableSize, c.sendWindow, c.sendInitial = 4096, defaultWindow, defaultWindow
	c.decoder = hpack.NewDecoder(4096, nil)
}

// unreadable turns what the framer says of the client's bytes into a violation.
func (c *client) unreadable(err error) error {
	var connection http2.ConnectionError
	var stream http2.StreamError
	if errors.As(err, &connection) || errors.As(err, &stream) || errors.Is(err, http2.ErrFrameTooLarge) {
		return violated("a frame after stream %d: %v", c.lastID, err)
	}
	return err
}

func (c *client) first(frame http2.Frame) error {
	if _, ok := frame.(*http2.SettingsFrame); !c.begun && !ok {
		return violated("its first frame is %v, not SETTINGS (RFC 9113, section 3.4)", frame.Header())
	}
	c.begun = true
	return nil
}

// set applies the client's SETTINGS to what the server may do.
func (c *client) set(f *http2.SettingsFrame) error {
	return f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return violated("%v: %v", s, err)
		}
		switch s.ID {
		case http2.SettingHeaderTableSize:
			c.tableSize = s.Val
		case http2.SettingInitialWindowSize:
			for id := range c.streamCredits {
				c.streamCredits[id] += int64(s.Val) - c.sendInitial
			}
			c.sendInitial = int64(s.Val)
		}
		return nil
	})
}

// offered notes SETTINGS of the server.
func (c *client) offered(settings []http2.Setting) {
	c.unacked = append(c.unacked, settings)
	c.allow()
}

// acked applies the oldest SETTINGS that were not acknowledged, and returns their
// number from 1.
func (c *client) acked() (n int) {
	for _, s := range c.unacked[0] {
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			c.ackedLimit = int64(s.Val)
		case http2.SettingInitialWindowSize:
			c.ackedInitial = int64(s.Val)
		case http2.SettingHeaderTableSize:
			c.decoder.SetAllowedMaxDynamicTableSize(s.Val)
			if s.Val == 0 {
				c.decoder.SetMaxDynamicTableSize(0) // RFC 7541, section 4.2: entries are gone
			}
		}
	}
	c.unacked = c.unacked[1:]
	c.acks++
	c.allow()
	return c.acks
}

// allow is the widest of what was acknowledged and what was not yet: the client may
// act on SETTINGS before the server has read that it did.
func (c *client) allow() {
	limit, initial := c.ackedLimit, c.ackedInitial
	for _, settings := range c.unacked {
		for _, s := range settings {
			switch s.ID {
			case http2.SettingMaxConcurrentStreams:
				limit = max(limit, int64(s.Val))
			case http2.SettingInitialWindowSize:
				initial = max(initial, int64(s.Val))
			}
		}
	}
	for _, stream := range c.streams {
		stream.window += initial - c.initial
	}
	c.limit, c.initial = limit, initial
}

func (c *client) credited(f *http2.WindowUpdateFrame) error {
	if f.Increment == 0 {
		return violated("WINDOW_UPDATE of 0 on stream %d", f.StreamID)
	}
	window := &c.sendWindow
	if f.StreamID != 0 {
		if _, open := c.streamCredits[f.StreamID]; !open {
			return nil
		}
		c.streamCredits[f.StreamID] += int64(f.Increment)
		return nil
	}
	if *window += int64(f.Increment); *window > maxWindow {
		return violated("WINDOW_UPDATE lifts the connection's window to %d (RFC 9113, section 6.9.1)", *window)
	}
	return nil
}

// fragment handles a piece of a header block.
func (c *client) fragment(id uint32, piece []byte, ends bool) error {
	if c.headers == nil {
		c.headersID, c.ends = id, ends
	}
	c.headers = append(c.headers, piece...)
	return nil
}

// request opens the stream of a whole header block and says whether it has ended.
func (c *client) request(id uint32) (ended bool, err error) {
	block := c.headers
	c.headers = nil
	fields, err := c.decoder.DecodeFull(block)
	if err != nil {
		return false, violated("stream %d: its header block: %v", id, err)
	}
	if c.streams[id] != nil {
		return false, violated("stream %d: a second header block", id)
	}
	if id%2 == 0 || id <= c.lastID {
		return false, violated("stream %d was opened after stream %d (RFC 9113, section 5.1.1)", id, c.lastID)
	}
	if len(c.streams) >= int(c.limit) {
		return false, violated("stream %d is one more than the %d that it may have (RFC 9113, section 5.1.2)", id, c.limit)
	}
	c.lastID = id
	c.streams[id] = &stream{window: c.initial}
	c.streamCredits[id] = c.sendInitial
	return c.ends, wellFormed(id, fields)
}

// wellFormed holds a request to the gRPC over HTTP/2 specification.
func wellFormed(id uint32, fields []hpack.HeaderField) error {
	got, regular := map[string]string{}, false
	for _, f := range fields {
		if f.IsPseudo() && regular {
			return violated("stream %d: %s comes after other fields (RFC 9113, section 8.3)", id, f.Name)
		}
		regular = regular || !f.IsPseudo()
		if f.Name != strings.ToLower(f.Name) {
			return violated("stream %d: field name %q is not in lower case (RFC 9113, section 8.2)", id, f.Name)
		}
		got[f.Name] = f.Value
	}
	for name, want := range map[string]string{":method": "POST", ":scheme": "http", ":path": Method, "te": "trailers"} {
		if got[name] != want {
			return violated("stream %d: %s is %q, not %q", id, name, got[name], want)
		}
	}
	if !strings.HasPrefix(got["content-type"], "application/grpc") {
		return violated("stream %d: content-type is %q", id, got["content-type"])
	}
	return nil
}

// sent subtracts DATA of the client from its windows.
func (c *client) sent(id, used uint32, data []byte) error {
	if id > c.lastID {
		return violated("DATA on stream %d, which is idle", id)
	}
	if c.window -= int64(used); c.window < 0 {
		return violated("stream %d: DATA is %d bytes over the connection's window (RFC 9113, section 6.9.1)", id, -c.window)
	}
	stream := c.streams[id]
	if stream == nil {
		return nil // the server had ended it
	}
	if stream.window -= int64(used); stream.window < 0 && used > 0 {
		return violated("stream %d: DATA is %d bytes over its window (RFC 9113, section 6.9.1)", id, -stream.window)
	}
	stream.body = append(stream.body, data...)
	return nil
}

// ended forgets a stream.
func (c *client) ended(id uint32) {
	delete(c.streams, id)
	delete(c.streamCredits, id)
}
