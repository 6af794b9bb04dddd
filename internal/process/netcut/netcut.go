// Package netcut cuts the network between a listener and its clients from inside the listener's process, so it needs
// no privileges: it resets connections, or drops packets.
package netcut

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// stuckTimeout is how long a server that stops waits for connections whose packets are dropped.
const stuckTimeout = 5 * time.Second

// Listener is a TCP listener whose connections can be cut.
type Listener struct {
	*net.TCPListener
	passes atomic.Pointer[chan struct{}] // closed while packets pass

	mu   sync.Mutex
	open map[*Conn]struct{}
}

// Listen listens at an address on TCP, without the kernel's keepalive: that closes healthy connections of thousands
// of idle ones, because it probes all at once and loses some.
func Listen(ctx context.Context, address string) (*net.TCPListener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false) // its sockets can have no filter
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return listener.(*net.TCPListener), nil
}

// New returns a listener in place of one that [Listen] returned.
func New(l *net.TCPListener) *Listener {
	passes := make(chan struct{})
	close(passes)
	cut := &Listener{TCPListener: l, open: map[*Conn]struct{}{}}
	cut.passes.Store(&passes)
	return cut
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.AcceptConn()
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// AcceptConn is Accept.
func (l *Listener) AcceptConn() (*Conn, error) {
	accepted, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	conn := &Conn{TCPConn: accepted, listener: l, closed: make(chan struct{}), moved: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[conn] = struct{}{}
	if l.dropping() { // the connection was established before
		_ = dropArriving(accepted)
	}
	return conn, nil
}

// Reset ends every open connection with RST. Clients may connect again.
func (l *Listener) Reset() {
	l.mu.Lock()
	open := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, conn := range open {
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}
}

// EndStuck resets the open connections after 5 s if packets are dropped then, because neither end could end them. A
// server that stops calls it. stop cancels it.
func (l *Listener) EndStuck() (stop func() bool) {
	return time.AfterFunc(stuckTimeout, func() {
		if l.dropping() {
			l.Reset()
		}
	}).Stop
}

// Drop drops all packets that arrive, also of clients that connect, and lets writes wait; or it ends that. What is
// written already is still sent. It fails on systems other than Linux.
func (l *Listener) Drop(drop bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if drop == l.dropping() {
		return nil
	}
	set := passArriving
	if drop {
		set = dropArriving
		l.passes.Store(new(make(chan struct{})))
	} else {
		close(*l.passes.Load())
	}
	sockets := []syscall.Conn{l.TCPListener}
	for conn := range l.open {
		sockets = append(sockets, conn.TCPConn)
	}
	var err error
	for _, socket := range sockets {
		if failed := set(socket); !errors.Is(failed, net.ErrClosed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// dropping reports whether packets are dropped.
func (l *Listener) dropping() bool {
	select {
	case <-*l.passes.Load():
		return false
	default:
		return true
	}
}

// Conn is a connection that can be cut.
type Conn struct {
	*net.TCPConn
	listener *Listener
	once     sync.Once
	closed   chan struct{}

	mu       sync.Mutex
	deadline time.Time     // of writes; zero: none
	moved    chan struct{} // closed and replaced when deadline changes
}

// Write implements [net.Conn]. It waits while packets are dropped.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.wait(); err != nil {
		return 0, err
	}
	return c.TCPConn.Write(p)
}

// ReadFrom implements [io.ReaderFrom] as Write.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if err := c.wait(); err != nil {
		return 0, err
	}
	return c.TCPConn.ReadFrom(r)
}

// SetDeadline implements [net.Conn].
func (c *Conn) SetDeadline(t time.Time) error {
	c.moveDeadline(t)
	return c.TCPConn.SetDeadline(t)
}

// SetWriteDeadline implements [net.Conn].
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.moveDeadline(t)
	return c.TCPConn.SetWriteDeadline(t)
}

func (c *Conn) moveDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	close(c.moved)
	c.moved = make(chan struct{})
}

// wait returns when packets pass, the connection is closed, or the deadline of writes is over; the last two are
// errors.
func (c *Conn) wait() error {
	for c.listener.dropping() {
		c.mu.Lock()
		deadline, moved := c.deadline, c.moved
		c.mu.Unlock()
		var expired <-chan time.Time
		if !deadline.IsZero() {
			expired = time.After(time.Until(deadline))
		}
		select {
		case <-*c.listener.passes.Load():
			return nil
		case <-c.closed:
			return net.ErrClosed // although the socket may still be open
		case <-expired:
			return os.ErrDeadlineExceeded
		case <-moved:
		}
	}
	return nil
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		delete(c.listener.open, c)
	})
	return c.TCPConn.Close()
}
