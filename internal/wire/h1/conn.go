// Package h1 is the client side of one HTTP/1.1 connection (RFC 9112) as a state
// machine with the methods of an [h2.Conn]: one request at a time, the next one when
// the answer before it is whole. It has no socket and no clock.
package h1

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"rpclab/internal/wire/h2"
)

// Conn is the client side of a connection. It belongs to one goroutine. A stream's
// Payload is the whole request, head and body.
type Conn struct {
	h       h2.Handler
	limits  Limits
	out     []byte
	in      []byte // what came and was not yet understood
	err     error
	going   string // why there is no next request; "": there may be one
	waiting []*h2.Stream

	now   *h2.Stream // whose answer is awaited; nil: nobody's
	state state
	head  h2.Head // of that answer
	left  int64   // bytes of the body, or of its chunk
	last  bool    // the server closes after this answer
}

// Limits are what a connection accepts; zeros stand for the defaults.
type Limits struct {
	Head      int    // bytes of an answer's head; 64 KiB
	Body      int    // bytes of its body; 4 MiB
	Backend   string // field whose value becomes [h2.Head.Backend], in lower case
	NoContent bool   // answers have no body, as those to HEAD
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
		l.Head = 64 << 10
	}
	if l.Body == 0 {
		l.Body = 4 << 20
	}
	return &Conn{h: h, limits: l}
}

// Out is what has to be written. It is valid until the next call.
func (c *Conn) Out() []byte { return c.out }

// Wrote says that the first n bytes of Out were written.
func (c *Conn) Wrote(n int) { c.out = c.out[n:] }

// Usable says whether requests can be started here.
func (c *Conn) Usable() bool { return c.err == nil && c.going == "" }

// Active is the number of streams that were started and have not ended.
func (c *Conn) Active() int {
	if c.now == nil {
		return len(c.waiting)
	}
	return len(c.waiting) + 1
}

// GoAway is the reason for which there is no next request; "": there may be one.
func (c *Conn) GoAway() string { return c.going }

// Start sends the stream's request once those before it are answered.
func (c *Conn) Start(s *h2.Stream) {
	if c.now != nil {
		c.waiting = append(c.waiting, s)
		return
	}
	c.send(s)
}

func (c *Conn) send(s *h2.Stream) {
	c.now, c.state = s, inHead
	if len(c.out) == 0 {
		c.out = slices.Clip(s.Payload) // thousands of connections may send the same large one
		return
	}
	c.out = append(c.out, s.Payload...)
}

// Cancel takes a stream back; its handler hears no more of it. The connection cannot
// be used again when its answer was on its way: there is no other way to be spared it.
func (c *Conn) Cancel(s *h2.Stream) {
	if c.now == s {
		c.now = nil
		c.leave("a call on it was given up")
		return
	}
	for i, w := range c.waiting {
		if w == s {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			return
		}
	}
}

// Abort ends a stream whose answer is of no use, with a status; its handler is told.
func (c *Conn) Abort(s *h2.Stream, why h2.Status) {
	if c.now == s {
		c.now = nil
		c.leave("an answer on it was given up")
		s.Failed = why
		c.h.Done(s)
	}
}

// leave gives back what waits.
func (c *Conn) leave(why string) {
	if c.going == "" {
		c.going = why
	}
	for len(c.waiting) > 0 {
		s := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.h.Returned(s, h2.Status{Code: h2.Unavailable, Message: c.going})
	}
}

// End says that the server has closed the connection in order, which is how an answer
// ends that is as long as the connection lives (RFC 9112 section 8). Close has to follow.
func (c *Conn) End() {
	if s := c.now; s != nil && c.state == untilClose && c.err == nil {
		c.now = nil
		c.h.Done(s)
	}
}

// Close ends every stream with a status.
func (c *Conn) Close(why h2.Status) {
	if c.err == nil {
		c.err = h2.ErrClosed
	}
	if s := c.now; s != nil {
		c.now = nil
		s.Failed = why
		c.h.Done(s)
	}
	c.leave("the connection is closed")
}

func violation(format string, args ...any) error {
	return fmt.Errorf("HTTP/1.1: "+format, args...)
}

// Feed takes bytes that the server sent. After an error the streams have failed, and
// the connection is to be closed.
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

// finish is the end of an answer, and the beginning of the next request.
func (c *Conn) finish() {
	s := c.now
	c.now, c.state = nil, inHead
	c.out = slices.Clone(c.out) // its payload may be changed from now on
	if c.last {
		c.leave("the server closes the connection after an answer")
	} else if len(c.waiting) > 0 {
		next := c.waiting[0]
		c.waiting = c.waiting[:copy(c.waiting, c.waiting[1:])]
		c.send(next)
	}
	c.h.Done(s)
}

// line is the first line of p without its end, and how many bytes it took; 0: it is
// not whole yet.
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
