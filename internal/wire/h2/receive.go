package h2

import "encoding/binary"

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

// stream returns the open stream of a frame. It returns nil without an error for a stream that
// ended while the frame was on its way.
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
		c.abort(s, Cancel, ResourceExhausted, "the response is larger than the limit")
		return nil
	}
	s.Body = append(s.Body, body...)
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
		return c.headerBlock(f, block)
	}
	c.blockOf, c.fragments = f, 1
	c.blockOf.payload = nil
	c.block = append(c.block[:0], block...)
	return nil
}

func (c *Conn) continuation(f frame) error {
	if c.blockOf.stream == 0 {
		return violation(ProtocolError, "CONTINUATION on stream %d without HEADERS", f.stream)
	}
	if c.fragments++; c.fragments > maxFragments || len(c.block)+len(f.payload) > int(c.limits.HeaderList) {
		return violation(EnhanceYourCalm, "a header block of %d frames and %d bytes", c.fragments, len(c.block)+len(f.payload))
	}
	c.block = append(c.block, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	first := c.blockOf
	c.blockOf = frame{}
	return c.headerBlock(first, c.block)
}

// headerBlock handles a whole block. It is decoded even if no stream waits for it, to keep the
// table.
func (c *Conn) headerBlock(f frame, block []byte) error {
	head, err := c.heads.decode(block)
	if err != nil {
		return err
	}
	s := c.open.find(f.stream)
	if s == nil {
		return nil
	}
	end := f.has(flagEndStream)
	malformed := head.Malformed
	switch {
	case malformed != "":
	case s.Headers == nil && head.Status == 0:
		malformed = "the response has no :status"
	case s.Headers == nil && head.Status < 200: // RFC 9110 section 15.2
		if !end {
			return nil
		}
		malformed = "the stream ends with an interim status"
	case s.Headers != nil && !end:
		malformed = "a second header block does not end the stream"
	case s.Headers != nil && head.Status != 0:
		malformed = "a :status in the trailers"
	}
	if malformed != "" {
		c.abort(s, ProtocolError, Internal, malformed)
		return nil
	}
	if s.Headers == nil {
		s.Headers = head
	}
	if end {
		s.Trailers = head
		c.endedByPeer(s)
		return nil
	}
	c.handler.Data(s)
	return nil
}

// abort ends a stream that the peer has not ended.
func (c *Conn) abort(s *Stream, code ErrorCode, status uint32, why string) {
	c.reset(s, code)
	s.Failed = Status{status, why}
	c.handler.Done(s)
	c.admit()
}

// Abort ends a stream with a status when its response is of no use. The handler's Done is called.
func (c *Conn) Abort(s *Stream, why Status) {
	if c.open.find(s.id) == s {
		c.abort(s, Cancel, why.Code, why.Message)
	}
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

// giveBack ends a stream that the peer did not process.
func (c *Conn) giveBack(s *Stream, why Status) {
	s.link.Remove()
	c.open.remove(s)
	c.handler.Returned(s, why)
}
