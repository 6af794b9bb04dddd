package h2

import (
	"encoding/binary"
	"errors"
)

// Feed handles bytes of the peer. An error is a *[Violation]: all streams have failed then, and
// Out holds the GOAWAY to send before the connection is closed.
func (c *Conn) Feed(p []byte) error {
	if c.err != nil {
		return c.err
	}
	err := c.feed(p)
	if err == nil || c.err != nil {
		return c.err
	}
	c.err = err
	code := ProtocolError
	if v, ok := errors.AsType[*Violation](err); ok {
		code = v.Code
	}
	c.out = appendFrame(c.out, 8, frameGoAway, 0, 0)
	c.out = binary.BigEndian.AppendUint32(c.out, 0)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(code))
	c.failAll(Status{Internal, err.Error()})
	return err
}

func (c *Conn) feed(p []byte) error {
	for len(c.in) > 0 && len(p) > 0 { // complete the frame of the last call
		need := frameHeader
		if len(c.in) >= frameHeader {
			n, err := c.length(c.in)
			if err != nil {
				return err
			}
			need += n
		}
		n := min(need-len(c.in), len(p))
		c.in, p = append(c.in, p[:n]...), p[n:]
		if len(c.in) < frameHeader {
			return nil
		}
		size, err := c.length(c.in)
		if err != nil {
			return err
		}
		if len(c.in) < frameHeader+size {
			continue
		}
		whole := c.in
		if err := c.receive(parse(whole)); err != nil {
			return err
		}
		c.in = c.in[:0]
	}
	for len(p) >= frameHeader {
		size, err := c.length(p)
		if err != nil {
			return err
		}
		if len(p) < frameHeader+size {
			break
		}
		if err := c.receive(parse(p[:frameHeader+size])); err != nil {
			return err
		}
		p = p[frameHeader+size:]
	}
	c.in = append(c.in, p...)
	return nil
}

// length returns the size of the payload that a frame header announces.
func (c *Conn) length(p []byte) (int, error) {
	n := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
	if !c.settingsReceived && p[3] != frameSettings {
		return 0, violation(ProtocolError, "the server's first bytes are not SETTINGS: %q (is this an HTTP/2 port?)", p[:min(len(p), frameHeader)])
	}
	if n > maxFrame {
		return 0, violation(FrameSizeError, "a frame of %d bytes; the limit is %d", n, maxFrame)
	}
	return n, nil
}

func parse(p []byte) frame {
	return frame{p[3], p[4], binary.BigEndian.Uint32(p[5:]) & maxStreamID, p[frameHeader:]}
}

// receive handles one whole frame.
func (c *Conn) receive(f frame) error {
	if c.blockOf.stream != 0 && (f.kind != frameContinuation || f.stream != c.blockOf.stream) {
		return violation(ProtocolError, "frame type %d on stream %d within the header block of stream %d", f.kind, f.stream, c.blockOf.stream)
	}
	switch f.kind {
	case frameData:
		return c.data(f)
	case frameHeaders:
		return c.headers(f)
	case frameContinuation:
		return c.continuation(f)
	case frameReset:
		return c.resetByPeer(f)
	case frameSettings:
		return c.settings(f)
	case framePush:
		return violation(ProtocolError, "PUSH_PROMISE, although push was never allowed")
	case framePing:
		return c.ping(f)
	case frameGoAway:
		return c.goAwayByPeer(f)
	case frameWindowUpdate:
		return c.windowUpdate(f)
	case framePriority:
		if f.stream == 0 || len(f.payload) != 5 {
			return violation(FrameSizeError, "a PRIORITY frame of %d bytes on stream %d", len(f.payload), f.stream)
		}
	}
	return nil // RFC 9113 section 4.1: unknown types are ignored
}

func (c *Conn) data(f frame) error {
	s, err := c.stream(f)
	if err != nil {
		return err
	}
	body, err := f.unpad()
	if err != nil {
		return err
	}
	n := uint32(len(f.payload)) // padding counts too, RFC 9113 section 6.1
	if c.consumed += n; c.consumed > c.limits.ConnWindow {
		return violation(FlowControlError, "more data than the connection's window of %d bytes", c.limits.ConnWindow)
	}
	if c.consumed >= c.limits.ConnWindow/2 {
		c.out = appendUint32(c.out, frameWindowUpdate, 0, c.consumed)
		c.consumed = 0
	}
	if s == nil {
		return nil
	}
	if s.Headers == nil {
		c.abort(s, ProtocolError, Internal, "the response's data come before its headers")
		return nil
	}
	if s.consumed += n; s.consumed > c.limits.StreamWindow {
		return violation(FlowControlError, "more data than the window of stream %d, %d bytes", f.stream, c.limits.StreamWindow)
	}
	if len(s.Body)+len(body) > c.limits.Body {
		c.abort(s, Cancel, ResourceExhausted, "the response is larger than the limit (raise it with rpclab load --max-message)")
		return nil
	}
	s.Body = appendBody(s.Body, body, c.limits.Body)
	if f.has(flagEndStream) {
		c.endedByPeer(s)
		return nil
	}
	if s.consumed >= c.limits.StreamWindow/2 {
		c.out = appendUint32(c.out, frameWindowUpdate, s.id, s.consumed)
		s.consumed = 0
	}
	c.handler.Data(s)
	return nil
}

// appendBody doubles the buffer as needed, up to a limit. The smaller steps of append would leave a
// multiple of a large body as garbage.
func appendBody(to, more []byte, limit int) []byte {
	if n := len(to) + len(more); n > cap(to) {
		to = append(make([]byte, 0, max(n, min(2*n, limit))), to...)
	}
	return append(to, more...)
}

// endedByPeer handles the end of a response. The rest of a request that is not fully sent is no
// longer needed (RFC 9113 section 8.1).
func (c *Conn) endedByPeer(s *Stream) {
	if !s.sentEnd {
		c.reset(s, NoError)
		c.handler.Done(s)
		c.admit()
		return
	}
	c.finish(s, Status{})
}

func (c *Conn) headers(f frame) error {
	if _, err := c.stream(f); err != nil {
		return err
	}
	block, err := f.unpad()
	if err != nil {
		return err
	}
	if f.has(flagPriority) {
		if len(block) < 5 {
			return violation(FrameSizeError, "a HEADERS frame too short for its priority, on stream %d", f.stream)
		}
		block = block[5:]
	}
	if f.has(flagEndHeaders) {
		head, err := c.heads.decode(block)
		if err != nil {
			return err
		}
		c.headersReceived(f, head)
		return nil
	}
	c.blockOf, c.fragments = f, 1
	c.blockOf.payload = nil
	c.heads.begin()
	return c.heads.write(block)
}

func (c *Conn) continuation(f frame) error {
	if c.blockOf.stream == 0 {
		return violation(ProtocolError, "CONTINUATION on stream %d without HEADERS", f.stream)
	}
	if c.fragments++; c.fragments > maxFragments+c.heads.read/minFragment {
		return violation(EnhanceYourCalm, "a header block of %d frames and %d bytes", c.fragments, c.heads.read)
	}
	if err := c.heads.write(f.payload); err != nil || !f.has(flagEndHeaders) {
		return err
	}
	first := c.blockOf
	c.blockOf = frame{}
	head, err := c.heads.end()
	if err != nil {
		return err
	}
	c.headersReceived(first, head)
	return nil
}

// headersReceived handles a whole header block of a stream. Every block is decoded, even if no stream
// waits for it, to keep the table.
func (c *Conn) headersReceived(f frame, head *Headers) {
	s := c.open.find(f.stream)
	if s == nil {
		return
	}
	end := f.has(flagEndStream)
	malformed := head.Malformed
	switch {
	case malformed != "":
	case s.Headers == nil && head.Status == 0:
		malformed = "the response has no :status"
	case s.Headers == nil && head.Status < 200: // RFC 9110 section 15.2
		if !end {
			return
		}
		malformed = "the stream ends with an interim status"
	case s.Headers != nil && !end:
		malformed = "a second header block does not end the stream"
	case s.Headers != nil && head.Status != 0:
		malformed = "a :status in the trailers"
	}
	if malformed != "" {
		c.abort(s, ProtocolError, Internal, malformed)
		return
	}
	if s.Headers == nil {
		s.Headers = head
	}
	if end {
		s.Trailers = head
		c.endedByPeer(s)
		return
	}
	c.handler.Data(s)
}

func (c *Conn) resetByPeer(f frame) error {
	if len(f.payload) != 4 {
		return violation(FrameSizeError, "an RST_STREAM frame of %d bytes", len(f.payload))
	}
	s, err := c.stream(f)
	if err != nil || s == nil {
		return err
	}
	code := ErrorCode(binary.BigEndian.Uint32(f.payload))
	if code == RefusedStream {
		c.giveBack(s, ofReset(code))
		c.admit()
		return nil
	}
	c.finish(s, ofReset(code))
	return nil
}
