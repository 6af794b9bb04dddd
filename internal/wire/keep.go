package wire

import (
	"fmt"
	"strings"
	"time"

	"rpclab/internal/wire/h2"
)

// watch looks after a connection that is ready: whether its server is alive and whether
// it is used. Reads and calls only note their times, and each look sets the timer for
// the moment at which there may be something to do.
func (l *link) watch() {
	l.look = nil
	next := time.Duration(-1)
	for _, look := range [...]func() time.Duration{l.keepAlive, l.closeIdle} {
		at := look()
		if l.dead {
			return
		}
		if at >= 0 && (next < 0 || at < next) {
			next = at
		}
	}
	if next >= 0 {
		l.look = l.core.timers.add(next, l.watch)
	}
}

// keepAlive sends a PING when nothing was heard for long enough, and ends the
// connection when that does not help. It returns when to look again; below 0: never.
func (l *link) keepAlive() time.Duration {
	c := l.core
	if l.every == 0 {
		return -1
	}
	limit := l.pinged + c.cfg.KeepAliveTimeout
	waits := l.pinged > 0 && l.heard <= l.pinged
	if waits && c.now >= limit && l.socket != nil {
		l.event(true, false) // what has come while this thread did something else counts
		if l.dead {
			return -1
		}
		waits = l.heard <= l.pinged
	}
	switch due := l.heard + l.every; {
	case waits && c.now >= limit:
		l.broken(fmt.Errorf("no answer to a PING within %s", c.cfg.KeepAliveTimeout))
		return -1
	case waits:
		return limit
	case due > c.now:
		return due
	}
	l.conn.(*h2.Conn).Ping()
	c.touch(l)
	l.pinged = c.now
	return l.pinged + min(c.cfg.KeepAliveTimeout, l.every)
}

// tooManyPings is what servers say in a GOAWAY to those who ask too often. A client
// then has to ask half as often: gRPC proposal A8, "Server Enforcement".
const tooManyPings = "too_many_pings"

func (l *link) pingLess(why string) {
	if strings.Contains(why, tooManyPings) {
		l.core.keepAlive = max(l.core.keepAlive, 2*l.every)
	}
}

// closeIdle ends a connection without calls. It returns as keepAlive does.
func (l *link) closeIdle() time.Duration {
	c := l.core
	switch due := l.used + c.cfg.IdleClose; {
	case c.cfg.IdleClose == 0 || c.cfg.PerCall || l.draining:
		return -1
	case l.conn.Active() > 0: // it is idle from when they end, at the earliest
		return c.now + c.cfg.IdleClose
	case due > c.now:
		return due
	}
	l.idle = true
	l.drain("no call for " + c.cfg.IdleClose.String())
	return -1
}
