package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// open starts to connect.
func (l *link) open() {
	c := l.core
	c.dialing++
	l.dialing, l.opened = true, c.now
	c.opening = append(c.opening, l)
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
		dialer := &net.Dialer{}
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
