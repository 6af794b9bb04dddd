package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// maxDialing limits the connections that one core opens at once, so that they do not overflow the
// server's accept queue (4096 on Linux, often less).
const maxDialing = 100

// open creates a connection, which dials as soon as the limits allow.
func (c *core) open(o connectionOwner, addr string) *connection {
	c.generation++
	conn := &connection{core: c, owner: o, addr: addr, generation: c.generation}
	if n := len(c.freeSlots); n > 0 {
		conn.slot, c.freeSlots = c.freeSlots[n-1], c.freeSlots[:n-1]
	} else {
		conn.slot = int32(len(c.connections))
		c.connections = append(c.connections, nil)
	}
	c.connections[conn.slot] = conn
	c.toDial = append(c.toDial, conn)
	c.dialNext()
	return conn
}

// mayDial reports whether a connection waits only for nextDial.
func (c *core) mayDial() bool { return len(c.toDial) > 0 && c.dialing.Len() < maxDialing && !c.closing }

// dialNext opens the connections that the limits allow now.
func (c *core) dialNext() {
	for c.mayDial() && c.nextDial <= c.now {
		conn := c.toDial[0]
		c.toDial = c.toDial[1:]
		if conn.closed {
			continue
		}
		if c.cfg.ConnectRate > 0 {
			gap := time.Duration(float64(time.Second) * float64(c.cfg.Cores) / c.cfg.ConnectRate)
			c.nextDial = max(c.nextDial, c.now-gap) + gap
		}
		conn.open()
	}
}

func (c *core) source() netip.Addr {
	if len(c.cfg.Sources) == 0 {
		return netip.Addr{}
	}
	c.sourcesUsed++
	return c.cfg.Sources[c.sourcesUsed%len(c.cfg.Sources)]
}

// open starts to dial.
func (l *connection) open() {
	core := l.core
	l.dialing, l.opened = true, core.now
	core.dialing.PushBack(l, &l.dialLink)
	if hasSockets && core.cfg.Dial == nil && core.cfg.TLS == nil {
		if to, err := netip.ParseAddrPort(l.addr); err == nil && to.Addr().Zone() == "" { // the Go runtime knows zones
			l.openSocket(to)
			return
		}
	}
	ctx, cancel := context.WithCancel(core.ctx)
	l.cancel = cancel
	gen, source := l.generation, core.source()
	core.workers.Go(func() {
		conn, err := dial(ctx, core.cfg, l.addr, source)
		posted := core.post(func() {
			switch {
			case l.closed || l.generation != gen:
				if conn != nil {
					conn.Close()
				}
			case err != nil:
				l.fail(err)
			default:
				l.adopt(conn)
			}
		})
		if !posted && conn != nil {
			conn.Close()
		}
	})
}

func (l *connection) openSocket(to netip.AddrPort) {
	socket, err := l.core.poll.connect(to, l.core.source(), l.slot, l.generation)
	if err != nil {
		// Later: the owner does not have the connection yet.
		l.core.after(0, func() {
			if !l.closed {
				l.fail(err)
			}
		})
		return
	}
	l.socket, l.transport = socket, socket
}

// dial opens a connection through the Go runtime, with TLS if configured.
func dial(ctx context.Context, cfg Config, addr string, source netip.Addr) (net.Conn, error) {
	open := cfg.Dial
	if open == nil {
		// No TCP keepalive every 15 s: the probes of thousands of idle connections come at once, get
		// lost, and close good connections. HTTP/2 has PING, and calls have deadlines.
		dialer := &net.Dialer{KeepAlive: -1}
		if source.IsValid() {
			dialer.LocalAddr = &net.TCPAddr{IP: source.AsSlice()}
		}
		open = func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }
	}
	conn, err := open(ctx, addr)
	if err != nil || cfg.TLS == nil {
		return conn, err
	}
	settings := cfg.TLS
	if settings.ServerName == "" {
		settings = settings.Clone()
		settings.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS: %w", err), conn.Close())
	}
	if got := secure.ConnectionState().NegotiatedProtocol; got != cfg.TLS.NextProtos[0] && (got != "" || cfg.TLS.NextProtos[0] == "h2") {
		return nil, errors.Join(fmt.Errorf("TLS: the server chose the application protocol %q, not %s", got, cfg.TLS.NextProtos[0]), conn.Close())
	}
	return secure, nil
}

func (l *connection) adopt(conn net.Conn) {
	if to, ok := conn.RemoteAddr().(*net.TCPAddr); ok { // of a backend, if the address is that of a service
		l.remote = to.String()
	}
	socket, err := l.core.poll.adopt(conn, l.slot, l.generation)
	switch {
	case err != nil:
		l.fail(err)
		return
	case socket != nil:
		l.socket, l.transport = socket, socket
	default:
		l.transport = newNetConn(l, conn)
	}
	l.startProtocol()
}
