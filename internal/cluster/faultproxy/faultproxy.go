// Package faultproxy runs between clients and one backend of a user's service and injects faults: it delays responses, or
// answers calls with an error. Without a fault it passes everything on.
//
// Each connection of a client has one connection to the backend. HTTP/2 is passed on frame by frame, so clients
// see the backend's own settings, flow control, resets of streams and GOAWAY, and a connection ends when the backend
// ends it. The backend answers PINGs, except soon after a delayed response. HTTP/1.1 is passed on request by request.
package faultproxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"rpclab/internal/process"
	"rpclab/internal/process/netcut"
	"rpclab/internal/process/stdio"
	"rpclab/internal/workload"
)

// Proxy passes the connections of clients on to one backend.
type Proxy struct {
	backend    string      // host:port
	encryption *encryption // nil: clear text
	restarts   bool        // the backend may listen again after it has exited
	fault      atomic.Pointer[workload.Fault]
	flapping   atomic.Pointer[time.Time] // when the present flap began
	listener   atomic.Pointer[netcut.Listener]
	begun      atomic.Uint64

	mu   sync.Mutex
	open map[*pair]struct{}
}

// pair is the connection of a client and that to the backend.
type pair struct {
	client, backend tcpConn
	cut             atomic.Bool // both end with a reset
}

// tcpConn is a connection without encryption.
type tcpConn interface {
	halfCloser
	SetLinger(seconds int) error
}

// New returns a proxy before a backend (host:port), without a fault.
func New(backend string) *Proxy {
	p := &Proxy{backend: backend, open: map[*pair]struct{}{}}
	p.SetFault(workload.Fault{})
	return p
}

// SetFault injects a fault into all calls, and messages of streams, that begin from now on. It replaces the
// last fault. Health checks and reflection have none. Fault.Flap affects Readiness only.
func (p *Proxy) SetFault(fault workload.Fault) {
	if last := p.fault.Load(); last == nil || last.Flap != fault.Flap {
		p.flapping.Store(new(time.Now()))
	}
	p.fault.Store(&fault)
	if listener := p.listener.Load(); listener != nil {
		drop(listener, fault)
	}
}

// drop drops the packets of clients, or lets them pass, as a fault says.
func drop(listener *netcut.Listener, fault workload.Fault) {
	if err := listener.Drop(fault.Drop); err != nil {
		slog.Error("cannot drop packets", "error", err)
	}
}

// WriteCount writes a line with the number of calls begun, without health checks and reflection.
func (p *Proxy) WriteCount(to io.Writer) { fmt.Fprintln(to, p.begun.Load()) }

// ServeCommands executes the commands of a [workload.Command] a line, as rpclab's own server does, and returns at
// the end of input.
func (p *Proxy) ServeCommands(commands io.Reader, answers io.Writer) {
	_, _ = io.Copy(stdio.NewLines(func(line string) {
		var command workload.Command
		if json.Unmarshal([]byte(line), &command) != nil {
			return
		}
		if command.Fault != nil {
			p.SetFault(*command.Fault)
		}
		if command.Count {
			p.WriteCount(answers)
		}
		if command.Reset {
			p.resetConnections()
		}
	}), commands)
}

// resetConnections resets the open connections, at both ends. Clients may connect again.
func (p *Proxy) resetConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for open := range p.open { // before the first is closed, as whoever reads from that closes the other
		open.cut.Store(true)
	}
	for open := range p.open {
		reset(open.client)
		reset(open.backend)
	}
}

// track makes connections known to resetConnections until the returned function is called.
func (p *Proxy) track(client, backend tcpConn) (open *pair, forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	open = &pair{client: client, backend: backend}
	p.open[open] = struct{}{}
	return open, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, open)
	}
}

// Serve passes on connections until ctx ends. Then it accepts no more, and returns when the last has ended,
// or while packets are dropped 5 s later. It also stops accepting when the backend no longer listens, so that clients see that.
func (p *Proxy) Serve(ctx context.Context, listener *net.TCPListener) {
	clients := netcut.New(listener)
	p.listener.Store(clients)
	drop(clients, *p.fault.Load())
	defer context.AfterFunc(ctx, func() { clients.EndStuck() })()
	process.ServeTCP(ctx, clients, clients.AcceptConn, func(client *netcut.Conn) { p.pass(client, listener) })
}

// pass connects a client to the backend until one of them ends the connection.
func (p *Proxy) pass(client tcpConn, listener io.Closer) {
	conn, err := (&net.Dialer{KeepAlive: -1}).Dial("tcp", p.backend) // no connection of this machine breaks silently
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) && !p.restarts {
			_ = listener.Close()
		}
		reset(client)
		return
	}
	backend := conn.(*net.TCPConn)
	open, forget := p.track(client, backend)
	defer forget()
	clientSide, backendSide := newSide(client, client, &open.cut), newSide(backend, backend, &open.cut)
	if p.encryption != nil {
		secureClient, secureBackend, err := p.encryption.handshake(client, backend)
		if err != nil {
			_ = client.Close()
			_ = backend.Close()
			return
		}
		clientSide, backendSide = newSide(secureClient, client, &open.cut), newSide(secureBackend, backend, &open.cut)
	}
	c := &connection{proxy: p, client: clientSide, backend: backendSide, ended: make(chan struct{}), streams: map[uint32]*stream{}}
	protocol := make(chan func() error, 1) // that passes the responses on; nil: the client has ended the connection
	go func() {
		defer close(c.ended)
		_, err := c.backend.in.Peek(1)
		if err != nil {
			c.client.end(err)
		}
		if responses := <-protocol; responses != nil {
			err = cmp.Or(err, responses())
		}
		logTooLarge("the backend", err)
		c.client.end(err)
	}()
	method, err := c.client.in.Peek(len(http2Method))
	switch {
	case err != nil:
		protocol <- nil
	case string(method) == http2Method:
		protocol <- c.passResponses
		err = c.passRequests()
	default:
		pending := make(chan pendingRequest, pipelined)
		protocol <- func() error { return c.passHTTP1Responses(pending) }
		err = c.passHTTP1Requests(pending)
	}
	logTooLarge("a client", err)
	c.forgetStreams()
	c.backend.end(err)
	<-c.ended
}

// connection is the connection of a client with its own connection to the backend.
type connection struct {
	proxy           *Proxy
	client, backend *side         // their locks come before mu
	ended           chan struct{} // closed when the backend has sent its last response

	mu      sync.Mutex
	streams map[uint32]*stream // in progress, by their number
	last    uint32             // the highest number of a stream
	held    int                // bytes of frames that are delayed now
	delayed time.Time          // when the last delayed frame went to the client
}

// halfCloser is a connection, encrypted or not.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// side is one of the two ends.
type side struct {
	conn    halfCloser
	tcp     tcpConn      // which carries conn
	cut     *atomic.Bool // it ends with a reset
	in      *bufio.Reader
	head    *headLimit     // limits what in reads
	frames  frameLimit     // the largest that this end may send
	frame   []byte         // the last one read
	decoder *hpack.Decoder // of headers from this end

	mu      sync.Mutex // held to write
	out     *bufio.Writer
	framer  *http2.Framer  // writes to out
	encoder *hpack.Encoder // of headers to this end
	block   bytes.Buffer
}

const bufferSize = 64 << 10

func newSide(conn halfCloser, tcp tcpConn, cut *atomic.Bool) *side {
	s := &side{conn: conn, tcp: tcp, cut: cut, head: &headLimit{Reader: conn}, out: bufio.NewWriterSize(conn, bufferSize)}
	s.in = bufio.NewReaderSize(s.head, bufferSize)
	s.framer, s.encoder, s.decoder = http2.NewFramer(s.out, nil), hpack.NewEncoder(&s.block), hpack.NewDecoder(tableSize, nil)
	return s
}

// end ends the connection as the other end did, whose error of reading err is.
func (s *side) end(err error) {
	switch {
	case s.cut.Load():
		reset(s.tcp)
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		_ = s.conn.Close()
	case errors.Is(err, io.ErrUnexpectedEOF): // within a frame, or without TLS's close_notify
		_ = s.tcp.Close()
	default:
		reset(s.tcp)
	}
}

// reset ends a connection with RST in place of FIN.
func reset(conn tcpConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// isExempt reports whether a call is health or reflection, which have no faults.
func isExempt(path string) bool { return strings.HasPrefix(path, "/grpc.") }
