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
	for _, check := range [...]func() time.Duration{l.keepAlive, l.closeIdle} {
		at := check()
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
	core := l.core
	if l.pingInterval == 0 {
		return -1
	}
	limit := l.lastPing + core.cfg.KeepAliveTimeout
	waits := l.lastPing > 0 && l.lastRead <= l.lastPing
	if waits && core.now >= limit && l.socket != nil {
		l.read() // what arrived while this thread was busy counts
		if l.closed {
			return -1
		}
		waits = l.lastRead <= l.lastPing
	}
	switch due := l.lastRead + l.pingInterval; {
	case waits && core.now >= limit:
		l.fail(fmt.Errorf("no response to a PING within %s", core.cfg.KeepAliveTimeout))
		return -1
	case waits:
		return limit
	case due > core.now:
		return due
	}
	l.protocol.(*h2.Conn).Ping()
	core.markUnflushed(l)
	l.lastPing = core.now
	return l.lastPing + min(core.cfg.KeepAliveTimeout, l.pingInterval)
}

// closeIdle closes a connection without calls. It returns the time of the next check; below 0:
// none.
func (l *connection) closeIdle() time.Duration {
	core := l.core
	switch due := l.lastUsed + core.cfg.IdleClose; {
	case core.cfg.IdleClose == 0 || core.cfg.ConnectionPerCall || l.draining:
		return -1
	case l.protocol.Active() > 0: // it becomes idle when they end
		return core.now + core.cfg.IdleClose
	case due > core.now:
		return due
	}
	l.closedIdle = true
	l.drain("no call for " + core.cfg.IdleClose.String())
	return -1
}
