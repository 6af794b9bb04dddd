package wire

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// netConn is a transport over a net.Conn, such as TLS. One goroutine reads and another writes;
// they exchange buffers with the core.
type netConn struct {
	conn       net.Conn
	core       *core
	connection *connection
	generation int32
	busy       bool // the writer has a buffer
	spare      []byte
	writes     chan []byte
	readAgain  chan struct{} // the core has handled the last read
}

func newNetConn(conn *connection, opened net.Conn) *netConn {
	transport := &netConn{conn: opened, core: conn.core, connection: conn, generation: conn.generation, writes: make(chan []byte, 1), readAgain: make(chan struct{}, 1)}
	conn.core.netConns++
	conn.core.workers.Go(transport.reader)
	conn.core.workers.Go(transport.writer)
	return transport
}

func (s *netConn) write(p []byte) (int, error) {
	if s.busy {
		return 0, nil
	}
	s.busy = true
	s.writes <- append(s.spare[:0], p...)
	return len(p), nil
}

func (s *netConn) close() {
	s.core.netConns--
	close(s.writes)
	close(s.readAgain)
	s.conn.Close()
}

// reader notes the time of each read. It adds the same function as a task for each read, so that a
// read does not allocate. The core runs the task before the next read.
func (s *netConn) reader() {
	buffer := make([]byte, readBuffer)
	var n int
	var err error
	var at time.Duration
	take := func() {
		if s.closed() {
			return
		}
		if n > 0 {
			s.connection.feed(buffer[:n], at)
		}
		switch {
		case s.closed():
		case err != nil:
			s.connection.fail(err)
		default:
			s.readAgain <- struct{}{}
		}
	}
	for {
		n, err = s.conn.Read(buffer)
		at = time.Since(s.core.epoch)
		s.core.post(take)
		if _, open := <-s.readAgain; !open {
			return
		}
	}
}

func (s *netConn) writer() {
	var p []byte
	var err error
	wrote := func() {
		switch {
		case s.closed():
		case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
			// It stays busy. The reader finds the end, after the data that arrived before it.
		case err != nil:
			s.connection.fail(err)
		default:
			s.busy, s.spare = false, p
			s.core.markUnflushed(s.connection)
		}
	}
	for p = range s.writes {
		_, err = s.conn.Write(p)
		s.core.post(wrote)
	}
}

// closed reports whether the connection is closed or has another transport.
func (s *netConn) closed() bool {
	return s.connection.generation != s.generation || s.connection.transport != transport(s)
}
