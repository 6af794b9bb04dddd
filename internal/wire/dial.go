package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// mostDialing bounds the connections that one core opens at once, so that the
// server's queue of them (4096 on Linux, often less) is not flooded.
const mostDialing = 100

// open makes a link and connects it as soon as the bounds on that allow.
func (c *core) open(o owner, addr string) *link {
	c.gen++
	l := &link{core: c, owner: o, addr: addr, gen: c.gen}
	if n := len(c.vacant); n > 0 {
		l.slot, c.vacant = c.vacant[n-1], c.vacant[:n-1]
	} else {
		l.slot = int32(len(c.links))
		c.links = append(c.links, nil)
	}
	c.links[l.slot] = l
	c.stats.Connections++
	c.toDial = append(c.toDial, l)
	c.dialNext()
	return l
}

func (c *core) dialNext() {
	for len(c.toDial) > 0 && c.opening.Len() < mostDialing && !c.closing {
		if c.cfg.ConnectRate > 0 && c.now < c.dialAt {
			if !c.pacing {
				c.pacing = true
				c.after(c.dialAt-c.now, func() { c.pacing = false; c.dialNext() })
			}
			return
		}
		l := c.toDial[0]
		c.toDial = c.toDial[1:]
		if l.dead {
			continue
		}
		if c.cfg.ConnectRate > 0 {
			gap := time.Duration(float64(time.Second) * float64(c.cfg.Cores) / c.cfg.ConnectRate)
			c.dialAt = max(c.dialAt, c.now-gap) + gap
		}
		l.open()
	}
}

func (c *core) release(l *link) {
	c.links[l.slot] = nil
	c.vacant = append(c.vacant, l.slot)
}

func (c *core) source() netip.Addr {
	if len(c.cfg.Sources) == 0 {
		return netip.Addr{}
	}
	c.sources++
	return c.cfg.Sources[c.sources%len(c.cfg.Sources)]
}

// open starts to connect.
func (l *link) open() {
	c := l.core
	l.dialing, l.opened = true, c.now
	c.opening.Push(l, &l.among)
	if hasSockets && c.cfg.Dial == nil && c.cfg.TLS == nil {
		if to, err := netip.ParseAddrPort(l.addr); err == nil {
			l.openSocket(to)
			return
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	l.cancel = cancel
	gen, source := l.gen, c.source()
	c.workers.Go(func() {
		conn, err := dial(ctx, c.cfg, l.addr, source)
		posted := c.post(func() {
			switch {
			case l.dead || l.gen != gen:
				if conn != nil {
					conn.Close()
				}
			case err != nil:
				l.broken(err)
			default:
				l.adopt(conn)
			}
		})
		if !posted && conn != nil {
			conn.Close()
		}
	})
}

func (l *link) openSocket(to netip.AddrPort) {
	s, err := l.core.poll.connect(to, l.core.source(), l.slot, l.gen)
	if err != nil {
		// Not at once: the owner has not yet noted that it has a link.
		l.core.after(0, func() {
			if !l.dead {
				l.broken(err)
			}
		})
		return
	}
	l.socket, l.transport = s, s
}

// dial opens a connection that the runtime owns at first, through TLS if asked for.
func dial(ctx context.Context, cfg Config, addr string, source netip.Addr) (net.Conn, error) {
	open := cfg.Dial
	if open == nil {
		// No probes of TCP's own every 15 s: those of thousands of idle connections come at once,
		// are lost, and end connections that were well. HTTP/2 has PING, and calls have deadlines.
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
		return nil, errors.Join(fmt.Errorf("TLS: the server chose protocol %q, not %s", got, cfg.TLS.NextProtos[0]), conn.Close())
	}
	return secure, nil
}

func (l *link) adopt(conn net.Conn) {
	s, err := l.core.poll.adopt(conn, l.slot, l.gen)
	switch {
	case err != nil:
		l.broken(err)
		return
	case s != nil:
		l.socket, l.transport = s, s
	default:
		l.transport = newStdConn(l.core, l, conn)
	}
	l.greet()
}

// helped adds to what the system says of a connection what can be done about it.
func helped(err error) error {
	var call *os.SyscallError
	connecting := errors.As(err, &call) && call.Syscall == "connect"
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: raise the limit (ulimit -n), or share the connections among several processes", err)
	case connecting && errors.Is(err, syscall.EADDRNOTAVAIL), // the port is chosen then
		!connecting && errors.Is(err, syscall.EADDRINUSE): // or before, by bind
		return fmt.Errorf("%w: no local port is left for this server; more source addresses have more (such as 127.1.0.0/28 on loopback: rpclab load --source)", err)
	}
	return err
}
