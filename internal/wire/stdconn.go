package wire

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// errWouldBlock: nothing to read now.
var errWouldBlock = errors.New("would block")

// transport carries a connection's bytes.
type transport interface {
	// write takes what it can without waiting. It tells the core when it takes more.
	write(p []byte) (int, error)
	close()
}

// stdConn is a transport over any net.Conn, TLS above all: a goroutine reads and
// another writes, and each hands its bytes to the core or gets them from there.
type stdConn struct {
	conn  net.Conn
	core  *core
	link  *link
	gen   int32
	busy  bool // the writer has a buffer
	spare []byte
	todo  chan []byte
	again chan struct{} // the core has read what it got
}

const readBuffer = 64 << 10

func newStdConn(c *core, l *link, conn net.Conn) *stdConn {
	s := &stdConn{conn: conn, core: c, link: l, gen: l.gen, todo: make(chan []byte, 1), again: make(chan struct{}, 1)}
	c.std++
	c.workers.Go(s.reader)
	c.workers.Go(s.writer)
	return s
}

func (s *stdConn) write(p []byte) (int, error) {
	if s.busy {
		return 0, nil
	}
	s.busy = true
	s.todo <- append(s.spare[:0], p...)
	return len(p), nil
}

func (s *stdConn) close() {
	s.core.std--
	close(s.todo)
	close(s.again)
	s.conn.Close()
}

// reader stamps each read with the time at which it returned. What it hands over is one
// function, not a new one for each read, which the core has done with before the next.
func (s *stdConn) reader() {
	buffer := make([]byte, readBuffer)
	var n int
	var err error
	var at time.Duration
	take := func() {
		if s.closed() {
			return
		}
		if n > 0 {
			s.link.feed(buffer[:n], at)
		}
		switch {
		case s.closed():
		case err != nil:
			s.link.broken(err)
		default:
			s.again <- struct{}{}
		}
	}
	for {
		n, err = s.conn.Read(buffer)
		at = time.Since(s.core.epoch)
		s.core.post(take)
		if _, open := <-s.again; !open {
			return
		}
	}
}

func (s *stdConn) writer() {
	var p []byte
	var err error
	wrote := func() {
		switch {
		case s.closed():
		case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
			// It stays busy; the reader finds the end, after all that came before it.
		case err != nil:
			s.link.broken(err)
		default:
			s.busy, s.spare = false, p
			s.core.touch(s.link)
		}
	}
	for p = range s.todo {
		_, err = s.conn.Write(p)
		s.core.post(wrote)
	}
}

// closed says whether the link has ended, or has another transport.
func (s *stdConn) closed() bool { return s.link.gen != s.gen || s.link.transport != transport(s) }
