package wire

import (
	"fmt"
	"time"

	"rpclab/internal/wire/h2"
)

// checkIdle checks whether the server of a connection responds and whether the connection is used.
// Reads and calls only note their times. Each check sets the timer for the next time at which
// there may be something to do.
func (l *connection) checkIdle() {
	l.checkTimer = nil
	next := time.Duration(-1)
	for _, look := range [...]func() time.Duration{l.keepAlive, l.closeIdle} {
		at := look()
		if l.closed {
			return
		}
		if at >= 0 && (next < 0 || at < next) {
			next = at
		}
	}
	if next >= 0 {
		l.checkTimer = l.core.timers.add(next, l.checkIdle)
	}
}

// keepAlive sends a PING when nothing was read for the interval, and closes the connection when
// there is no response. It returns the time of the next check; below 0: none.
func (l *connection) keepAlive() time.Duration {
	c := l.core
	if l.pingInterval == 0 {
		return -1
	}
	limit := l.lastPing + c.cfg.KeepAliveTimeout
	waits := l.lastPing > 0 && l.lastRead <= l.lastPing
	if waits && c.now >= limit && l.socket != nil {
		l.read() // what came while this thread was busy counts
		if l.closed {
			return -1
		}
		waits = l.lastRead <= l.lastPing
	}
	switch due := l.lastRead + l.pingInterval; {
	case waits && c.now >= limit:
		l.fail(fmt.Errorf("no answer to a PING within %s", c.cfg.KeepAliveTimeout))
		return -1
	case waits:
		return limit
	case due > c.now:
		return due
	}
	l.protocol.(*h2.Conn).Ping()
	c.markUnflushed(l)
	l.lastPing = c.now
	return l.lastPing + min(c.cfg.KeepAliveTimeout, l.pingInterval)
}

// closeIdle closes a connection without calls. It returns the time of the next check; below 0:
// none.
func (l *connection) closeIdle() time.Duration {
	c := l.core
	switch due := l.lastUsed + c.cfg.IdleClose; {
	case c.cfg.IdleClose == 0 || c.cfg.ConnectionPerCall || l.draining:
		return -1
	case l.protocol.Active() > 0: // it becomes idle when they end
		return c.now + c.cfg.IdleClose
	case due > c.now:
		return due
	}
	l.closedIdle = true
	l.drain("no call for " + c.cfg.IdleClose.String())
	return -1
}
