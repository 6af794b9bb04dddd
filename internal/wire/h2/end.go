package h2

// Close ends every stream with a status. After it, Feed returns ErrClosed.
func (c *Conn) Close(why Status) {
	if c.err == nil {
		c.err = ErrClosed
	}
	c.failAll(why)
}

func (c *Conn) failAll(why Status) {
	for c.waiting.Len() > 0 {
		s := c.waiting.Front()
		s.link.Remove()
		c.handler.Returned(s, why)
	}
	for _, s := range c.open.all(0) {
		if c.open.find(s.id) == s { // the handler may have cancelled it
			c.finish(s, why)
		}
	}
}

// finish ends an open stream that the peer has ended.
func (c *Conn) finish(s *Stream, failed Status) {
	s.link.Remove()
	c.open.remove(s)
	s.Failed = failed
	c.handler.Done(s)
	c.admit()
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

// giveBack ends a stream that the peer did not process.
func (c *Conn) giveBack(s *Stream, why Status) {
	s.link.Remove()
	c.open.remove(s)
	c.handler.Returned(s, why)
}
