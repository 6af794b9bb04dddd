package h2

import "slices"

// maxPending is how many bytes of output may wait to be written, above which DATA is not added.
const maxPending = 1 << 20

// Start sends the stream's request, or queues it until the peer allows another stream. The
// connection has to be Usable. sent is false for a queued stream; the handler's Admitted is called
// when it can be sent.
func (c *Conn) Start(s *Stream) (sent bool) {
	if c.waiting.Len() > 0 || c.open.n >= int(c.maxStreams) {
		c.waiting.PushBack(s, &s.link)
		return false
	}
	c.send(s)
	return true
}

// Cancel ends a stream without a further call of the handler.
func (c *Conn) Cancel(s *Stream) {
	switch {
	case s.link.In(&c.waiting):
		s.link.Remove()
	case s.id != 0 && c.open.find(s.id) == s:
		c.reset(s, Cancel)
		c.admit()
	}
}

// reset closes a stream from this side without calling the handler.
func (c *Conn) reset(s *Stream, code ErrorCode) {
	s.link.Remove()
	c.open.remove(s)
	c.out = appendUint32(c.out, frameReset, s.id, uint32(code))
	c.sentReset = true
}

// admit sends queued streams, as many as the peer allows.
func (c *Conn) admit() {
	for c.waiting.Len() > 0 && c.open.n < int(c.maxStreams) && c.Usable() {
		s := c.waiting.Front()
		s.link.Remove()
		if c.handler.Admitted(s) {
			c.send(s)
		}
	}
	if c.waiting.Len() > 0 && c.nextID > maxStreamID && c.err == nil {
		c.giveBackWaiting("the connection has used all its stream ids")
	}
}

func (c *Conn) giveBackWaiting(why string) {
	for c.waiting.Len() > 0 {
		s := c.waiting.Front()
		s.link.Remove()
		c.handler.Returned(s, Status{Unavailable, why})
	}
}

func (c *Conn) send(s *Stream) {
	s.id = c.nextID
	s.window = c.streamWindow
	c.nextID += 2
	c.open.add(s)

	at := len(c.out)
	c.out = append(c.out, c.form(s.Request)...)
	putStreamID(c.out[at:], s.id)
	if c.announceTableSize {
		c.writeTableSize(at)
	}
	n := len(s.Payload)
	if n == 0 {
		if !s.More {
			c.out[at+4] |= flagEndStream
			s.sentEnd = true
		}
		return
	}
	if int64(n) <= min(c.sendWindow, s.window, int64(c.maxFrame)) && len(c.out) < maxPending {
		var flags byte
		if !s.More {
			flags, s.sentEnd = flagEndStream, true
		}
		c.out = append(appendFrame(c.out, n, frameData, flags, s.id), s.Payload...)
		c.sendWindow -= int64(n)
		s.window -= int64(n)
		return
	}
	s.unsent = s.Payload
	c.pump(s)
}

// Send sends more data on a stream that was started with More; more reports whether further data
// will follow. Data that cannot be sent at once is copied. Send does nothing on a stream that has
// ended.
func (c *Conn) Send(s *Stream, p []byte, more bool) {
	if s.sentEnd || s.id == 0 || c.open.find(s.id) != s {
		return
	}
	s.More = more
	if len(p) == 0 && !more && len(s.unsent) == 0 {
		c.out = appendFrame(c.out, 0, frameData, flagEndStream, s.id)
		s.sentEnd = true
		return
	}
	if len(s.unsent) > 0 {
		s.unsent = append(slices.Clip(s.unsent), p...)
		return
	}
	s.unsent = p
	c.pump(s)
	s.unsent = slices.Clone(s.unsent)
}

// form returns the form of a request for this connection. The first request adds its fields to the
// table; other requests are sent in the plain form.
func (c *Conn) form(r *Request) []byte {
	switch {
	case c.noTable:
		return r.plain
	case c.indexedRequest == nil:
		c.indexedRequest = r
		return r.indexing
	case c.indexedRequest == r:
		return r.indexed
	}
	return r.plain
}

// writeTableSize inserts a size update to 0 before the block at an offset of out. RFC 7541 section
// 4.2 requires it when the peer made its table smaller.
func (c *Conn) writeTableSize(at int) {
	c.announceTableSize = false
	c.out = append(c.out, 0)
	block := at + frameHeader
	copy(c.out[block+1:], c.out[block:len(c.out)-1])
	c.out[block] = 0x20
	n := len(c.out) - block
	c.out[at], c.out[at+1], c.out[at+2] = byte(n>>16), byte(n>>8), byte(n)
}

// pump sends what the windows allow of a stream's payload. A server that reads slowly, or not at all, so
// costs no memory for data.
func (c *Conn) pump(s *Stream) {
	for len(s.unsent) > 0 {
		n := min(int64(len(s.unsent)), int64(c.maxFrame), c.sendWindow, s.window, int64(maxPending-len(c.out)))
		if n <= 0 {
			if s.link.In(nil) {
				c.blocked.PushBack(s, &s.link)
			}
			return
		}
		var flags byte
		if int(n) == len(s.unsent) && !s.More {
			flags, s.sentEnd = flagEndStream, true
		}
		c.out = append(appendFrame(c.out, int(n), frameData, flags, s.id), s.unsent[:n]...)
		s.unsent = s.unsent[n:]
		c.sendWindow -= n
		s.window -= n
	}
	s.link.Remove()
}

// pumpAll continues with the streams that waited for a window or for the output, in their order.
func (c *Conn) pumpAll() {
	for s := c.blocked.Front(); s != nil && c.sendWindow > 0 && len(c.out) < maxPending; {
		next := s.link.Next()
		c.pump(s)
		s = next
	}
}

// Wrote removes the first n bytes of Out, which were written, and adds data that waited for them.
func (c *Conn) Wrote(n int) {
	if n == len(c.out) {
		c.out, c.acks = c.out[:0], 0
	} else {
		c.acks = max(0, c.acks-n/maxAck)
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
	if c.blocked.Len() > 0 && len(c.out) < maxPending/2 {
		c.pumpAll()
	}
}
