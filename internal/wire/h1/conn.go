// Package h1 is the client side of one HTTP/1.1 connection (RFC 9112) as a state machine with the
// methods of an [h2.Conn]. It sends one request at a time, the next one after the whole response.
// It has no socket and no clock.
package h1

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rpclab/internal/wire/h2"
)

// Conn is the client side of a connection. Only one goroutine may use it. The Payload of a stream
// is the whole request with head and body.
type Conn struct {
	handler      h2.Handler
	limits       Limits
	out          []byte
	in           []byte // received bytes that are not yet handled
	err          error
	goAwayReason string // why there is no next request; "": there may be one
	waiting      []*h2.Stream

	current     *h2.Stream // whose response is awaited; nil: none
	state       state
	head        h2.Headers // of that response
	searched    int        // bytes of the incomplete head that were searched for its end
	remaining   int64      // bytes of the body, or of its chunk
	closesAfter bool       // the server closes after this response
}

// Limits are what a connection accepts; a zero means the default.
type Limits struct {
	Head      int    // bytes of a response's head; 16 MiB
	Body      int    // bytes of its body; 4 MiB
	Backend   string // field whose value becomes [h2.Headers.Backend], in lower case
	NoContent bool   // responses have no body, as those to HEAD
}

type state int

const (
	inHead state = iota
	inBody
	inChunkSize
	inChunk
	inChunkEnd
	inTrailers
	untilClose
)

// New returns a connection that is ready for its first request.
func New(h h2.Handler, l Limits) *Conn {
	if l.Head == 0 {
		l.Head = 16 << 20
	}
	if l.Body == 0 {
		l.Body = 4 << 20
	}
	return &Conn{handler: h, limits: l}
}

// Out returns the bytes to write. They are valid until the next call.
func (c *Conn) Out() []byte { return c.out }

// Wrote removes the first n bytes of Out, which were written.
func (c *Conn) Wrote(n int) { c.out = c.out[n:] }

// Usable reports whether requests can be started.
func (c *Conn) Usable() bool { return c.err == nil && c.goAwayReason == "" }

// Active returns the number of streams that were started and have not ended.
func (c *Conn) Active() int {
	if c.current == nil {
		return len(c.waiting)
	}
	return len(c.waiting) + 1
}

// GoAway returns why there can be no next request; "": there can.
func (c *Conn) GoAway() string { return c.goAwayReason }

// Start sends the stream's request after the responses to the requests before it. sent is false when
// it has to wait for them.
func (c *Conn) Start(s *h2.Stream) (sent bool) {
	if c.current != nil {
		c.waiting = append(c.waiting, s)
		return false
	}
	c.send(s)
	return true
}

func (c *Conn) send(s *h2.Stream) {
	c.current, c.state = s, inHead
	if len(c.out) == 0 {
		c.out = slices.Clip(s.Payload) // thousands of connections may share one large payload
		return
	}
	c.out = append(c.out, s.Payload...)
}

// Cancel ends a stream without a further call of the handler. If the request was sent, the
// connection cannot be used again, because HTTP/1.1 cannot cancel a response.
func (c *Conn) Cancel(s *h2.Stream) {
	if c.current == s {
		c.current = nil
		c.giveBackWaiting("a call on it was cancelled")
		return
	}
	for i, w := range c.waiting {
		if w == s {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return
		}
	}
}

// Abort ends a stream with a status when its response is of no use. The handler's Done is called.
func (c *Conn) Abort(s *h2.Stream, why h2.Status) {
	if c.current == s {
		c.current = nil
		c.giveBackWaiting("a response on it was aborted")
		s.Failed = why
		c.handler.Done(s)
	}
}

// giveBackWaiting gives back the streams whose requests were not sent.
func (c *Conn) giveBackWaiting(why string) {
	if c.goAwayReason == "" {
		c.goAwayReason = why
	}
	for len(c.waiting) > 0 {
		s := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.handler.Returned(s, h2.Status{Code: h2.Unavailable, Message: c.goAwayReason})
	}
}

// End says that the server closed the connection in order. That is how a response without a length
// ends (RFC 9112 section 8). Close has to follow.
func (c *Conn) End() {
	if s := c.current; s != nil && c.state == untilClose && c.err == nil {
		c.current = nil
		c.handler.Done(s)
	}
}

// Close ends every stream with a status.
func (c *Conn) Close(why h2.Status) {
	if c.err == nil {
		c.err = h2.ErrClosed
	}
	if s := c.current; s != nil {
		c.current = nil
		s.Failed = why
		c.handler.Done(s)
	}
	c.giveBackWaiting("the connection is closed")
}

func violation(format string, args ...any) error {
	return fmt.Errorf("HTTP/1.1: "+format, args...)
}

// Feed handles bytes of the server. After an error all streams have failed, and the connection has
// to be closed.
func (c *Conn) Feed(p []byte) error {
	if c.err != nil {
		return c.err
	}
	if len(c.in) > 0 {
		c.in = append(c.in, p...)
		p = c.in
	}
	for {
		n, more, err := c.step(p)
		if err != nil {
			c.err = err
			c.Close(h2.Status{Code: h2.Internal, Message: err.Error()})
			return err
		}
		p = p[n:]
		if !more {
			break
		}
	}
	c.in = append(c.in[:0], p...)
	return c.err
}

// finish ends a response and sends the next request.
func (c *Conn) finish() {
	s := c.current
	c.current, c.state = nil, inHead
	c.out = slices.Clone(c.out) // the payload may be changed from now on
	if c.closesAfter {
		c.giveBackWaiting("the server closes the connection after a response")
	}
	for c.current == nil && len(c.waiting) > 0 {
		next := c.waiting[0]
		c.waiting = c.waiting[:copy(c.waiting, c.waiting[1:])]
		if c.handler.Admitted(next) {
			c.send(next)
		}
	}
	c.handler.Done(s)
}

// line returns the first line of p without its end, and the length of both; 0: it is not
// complete.
func (c *Conn) line(p []byte) ([]byte, int, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		if len(p) > c.limits.Head {
			return nil, 0, violation("a line of over %d bytes", c.limits.Head)
		}
		return nil, 0, nil
	}
	return bytes.TrimSuffix(p[:end], []byte{'\r'}), end + 1, nil
}

func number(p []byte, base int) (int64, bool) {
	n, err := strconv.ParseUint(string(p), base, 63)
	return int64(n), err == nil
}

// step handles the next part of the input. It returns how many bytes it consumed, and whether
// there may be more to handle.
func (c *Conn) step(p []byte) (consumed int, more bool, err error) {
	if len(p) == 0 {
		return 0, false, nil
	}
	if c.current == nil {
		if c.goAwayReason != "" {
			return len(p), false, nil // of a cancelled call
		}
		return 0, false, violation("the server sent %q without a request", p[:min(len(p), 40)])
	}
	switch c.state {
	case inHead:
		return c.readHead(p)
	case inBody, inChunk, untilClose:
		return c.readBody(p)
	}
	line, n, err := c.line(p)
	if n == 0 || err != nil {
		return 0, false, err
	}
	switch c.state {
	case inChunkSize: // RFC 9112 section 7.1
		size, _, _ := bytes.Cut(line, []byte{';'})
		left, ok := number(bytes.TrimSpace(size), 16)
		if !ok {
			return 0, false, violation("a chunk of the size %q", size[:min(len(size), 40)])
		}
		if c.remaining, c.state = left, inChunk; left == 0 {
			c.state = inTrailers
		}
	case inChunkEnd:
		if len(line) > 0 {
			return 0, false, violation("a chunk that is longer than it said")
		}
		c.state = inChunkSize
	case inTrailers:
		if len(line) == 0 {
			c.finish()
		}
	}
	return n, true, nil
}

func (c *Conn) readBody(p []byte) (took int, more bool, err error) {
	n := len(p)
	if c.state != untilClose {
		n = int(min(int64(n), c.remaining))
	}
	s := c.current
	if len(s.Body)+n > c.limits.Body {
		c.Abort(s, h2.Status{Code: h2.ResourceExhausted, Message: "the response is larger than the limit (raise it with rpclab load --max-message)"})
		return len(p), false, nil
	}
	s.Body = append(s.Body, p[:n]...)
	if c.remaining -= int64(n); c.remaining > 0 || c.state == untilClose {
		return n, true, nil
	}
	if c.state == inChunk {
		c.state = inChunkEnd
	} else {
		c.finish()
	}
	return n, true, nil
}

// readHead handles a whole head: status line and fields.
func (c *Conn) readHead(p []byte) (took int, more bool, err error) {
	const headEnd = "\r\n\r\n"
	searched := max(0, min(c.searched, len(p))-len(headEnd)+1)
	end := bytes.Index(p[searched:], []byte(headEnd))
	if end < 0 && len(p) > c.limits.Head || end >= 0 && searched+end+len(headEnd) > c.limits.Head {
		return 0, false, violation("a head of over %d bytes (raise the limit with rpclab load --max-header-list)", c.limits.Head)
	}
	if end < 0 {
		c.searched = len(p)
		if len(p) >= 5 && string(p[:5]) != "HTTP/" {
			return 0, false, violation("the response begins with %q: is this an HTTP/1.1 port?", p[:min(len(p), 40)])
		}
		return 0, false, nil
	}
	end += searched
	c.searched = 0
	line, rest, _ := bytes.Cut(p[:end+2], []byte("\r\n"))
	if len(line) < 12 || string(line[:7]) != "HTTP/1." {
		return 0, false, violation("the response begins with %q: is this an HTTP/1.1 port?", line[:min(len(line), 40)])
	}
	status, ok := number(line[9:12], 10)
	if !ok || status < 100 {
		return 0, false, violation("the status line %q", line[:min(len(line), 40)])
	}
	if status < 200 && status != 101 { // an interim response
		return end + 4, true, nil
	}
	c.head.Status = int(status)
	is10, closes, keeps := line[7] == '0', false, false
	c.remaining = -1
	chunked, known, typed := false, false, false
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			return 0, false, violation("the field %q", line[:min(len(line), 40)])
		}
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			n, ok := number(value, 10)
			if !ok || c.remaining >= 0 && c.remaining != n {
				return 0, false, violation("a Content-Length of %q", value[:min(len(value), 40)])
			}
			c.remaining = n
		case is(name, "transfer-encoding"):
			chunked = is(value, "chunked")
			if !chunked {
				return 0, false, violation("a Transfer-Encoding of %q", value[:min(len(value), 40)])
			}
		case is(name, "connection"):
			for option := range bytes.SplitSeq(value, []byte{','}) { // RFC 9110 section 7.6.1
				option = bytes.TrimSpace(option)
				closes, keeps = closes || is(option, "close"), keeps || is(option, "keep-alive")
			}
		case is(name, "content-type"):
			value = value[:min(len(value), h2.MaxKept)]
			if typed = true; c.head.Type != string(value) { // the comparison does not allocate
				c.head.Type = string(value)
			}
		case c.limits.Backend != "" && is(name, c.limits.Backend):
			value = value[:min(len(value), h2.MaxKept)]
			if known = true; c.head.Backend != string(value) { // the comparison does not allocate
				c.head.Backend = string(value)
			}
		}
	}
	c.closesAfter = closes || is10 && !keeps // RFC 9112 section 9.3
	if !known {
		c.head.Backend = ""
	}
	if !typed {
		c.head.Type = ""
	}
	s := c.current
	s.Headers = &c.head
	switch { // RFC 9112 section 6.3
	case c.limits.NoContent, status == 204, status == 304, c.remaining == 0 && !chunked:
		c.finish()
	case chunked:
		c.state = inChunkSize
	case c.remaining > 0:
		c.state = inBody
	default:
		c.state, c.closesAfter = untilClose, true
		c.goAwayReason = "the response ends with the connection"
	}
	return end + 4, true, nil
}

func is(p []byte, name string) bool { return len(p) == len(name) && strings.EqualFold(string(p), name) }
