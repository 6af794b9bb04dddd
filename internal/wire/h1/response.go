package h1

import (
	"bytes"
	"strings"

	"rpclab/internal/wire/h2"
)

// step handles the next part of the input. It returns how many bytes it took, and whether there
// may be more to handle.
func (c *Conn) step(p []byte) (took int, more bool, err error) {
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
			return 0, false, violation("a chunk of the size %q", size)
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
		c.Abort(s, h2.Status{Code: h2.ResourceExhausted, Message: "the response is larger than the limit"})
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
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		if len(p) > c.limits.Head {
			return 0, false, violation("a head of over %d bytes", c.limits.Head)
		}
		if len(p) >= 5 && string(p[:5]) != "HTTP/" {
			return 0, false, violation("the response begins with %q: is this an HTTP/1.1 port?", p[:min(len(p), 40)])
		}
		return 0, false, nil
	}
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
	c.closesAfter = line[7] == '0'
	c.remaining = -1
	chunked, known := false, false
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
				return 0, false, violation("a Content-Length of %q", value)
			}
			c.remaining = n
		case is(name, "transfer-encoding"):
			chunked = is(value, "chunked")
			if !chunked {
				return 0, false, violation("a Transfer-Encoding of %q", value)
			}
		case is(name, "connection"):
			c.closesAfter = c.closesAfter && !is(value, "keep-alive") || is(value, "close")
		case c.limits.Backend != "" && is(name, c.limits.Backend):
			if known = true; c.head.Backend != string(value) { // the comparison does not allocate
				c.head.Backend = string(value)
			}
		}
	}
	if !known {
		c.head.Backend = ""
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
