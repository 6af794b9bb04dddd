package wire

import (
	"slices"
	"time"

	"rpclab/internal/wire/h2"
)

func newPool(core *core) *pool {
	p := &pool{core: core, limit: (core.cfg.Channels - core.index + core.cfg.Cores - 1) / core.cfg.Cores}
	p.initial = p.limit
	if core.cfg.OnDemand {
		p.initial = 1
	}
	return p
}

// update sets the addresses. Connections to removed addresses close after their call.
func (p *pool) update(addrs []string) {
	p.addressIndex, p.failedDials, p.lastFailure = 0, 0, ""
	for _, conn := range slices.Clone(p.core.connections) {
		if conn != nil && conn.owner == connectionOwner(p) && !slices.Contains(addrs, conn.addr) {
			conn.drain("the address was removed")
		}
	}
	p.retryWaiting()
}

// start sends a call on a free connection, or lets the call wait for one.
func (p *pool) start(call *call) {
	if n := len(p.free); n > 0 {
		conn := p.free[n-1]
		conn.inPool, p.free = false, p.free[:n-1]
		conn.start(call)
		return
	}
	if why := p.failure(); why != "" {
		p.core.failCall(call, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	p.waiting.PushBack(call, &call.queued)
	p.grow()
	call.waits = p.waiting.Len() > p.opening // otherwise a connection is opened for it
}

// checkFree gives a free connection to the next waiting call, or keeps it.
func (p *pool) checkFree(conn *connection) {
	if conn.inPool || conn.draining || conn.protocol.Active() > 0 || !conn.protocol.Usable() {
		return
	}
	for call := p.waiting.Front(); call != nil; call = p.waiting.Front() {
		call.queued.Remove()
		if call.waits && !p.core.admitted(call) {
			continue
		}
		conn.start(call)
		return
	}
	conn.inPool = true
	p.free = append(p.free, conn)
}

// grow opens connections for the waiting calls.
func (p *pool) grow() {
	addrs := p.core.addrs
	for p.lastFailure == "" && len(addrs) > 0 && !p.core.closing &&
		p.opening < max(p.waiting.Len(), p.initial-p.connected) && p.opening+p.connected < p.limit {
		p.opening++
		p.core.open(p, addrs[p.addressIndex%len(addrs)])
		if p.core.cfg.RoundRobin {
			p.addressIndex++
		}
	}
}

// failure returns why calls cannot wait for a connection; "": they can.
func (p *pool) failure() string {
	switch {
	case len(p.core.addrs) == 0:
		return p.core.noAddress
	case p.opening+p.connected == 0:
		return p.lastFailure
	}
	return ""
}

// retryWaiting opens connections or fails the waiting calls after a change.
func (p *pool) retryWaiting() {
	p.grow()
	if why := p.failure(); why != "" {
		for call := p.waiting.Front(); call != nil; call = p.waiting.Front() {
			p.core.failCall(call, h2.Status{Code: h2.Unavailable, Message: why})
		}
	}
	p.core.checkConnected()
}

func (p *pool) ready(conn *connection) {
	p.opening--
	p.connected++
	p.failedDials, p.lastFailure, p.backoff = 0, "", 0
	if p.connected >= p.initial {
		p.initial = 0
	}
	p.checkFree(conn)
	p.retryWaiting()
}

func (p *pool) lost(conn *connection, why string) {
	core := p.core
	if i := slices.Index(p.free, conn); conn.inPool && i >= 0 {
		conn.inPool, p.free = false, slices.Delete(p.free, i, i+1)
	}
	if conn.protocol == nil {
		p.opening--
		p.dialFailed(conn, why)
	} else {
		p.connected--
	}
	if core.closing {
		return
	}
	if core.cfg.OnConnectionLost != nil && !conn.closedIdle {
		core.cfg.OnConnectionLost()
	}
	core.after(0, p.retryWaiting)
}

// dialFailed selects the next address, and waits for the backoff when all addresses have failed.
func (p *pool) dialFailed(conn *connection, why string) {
	addrs := p.core.addrs
	if !slices.Contains(addrs, conn.addr) {
		return
	}
	if !p.core.cfg.RoundRobin {
		if conn.addr != addrs[p.addressIndex%len(addrs)] { // another attempt to that address failed before
			return
		}
		p.addressIndex++
	}
	if p.failedDials++; p.failedDials < len(addrs) {
		return
	}
	p.failedDials, p.lastFailure = 0, why
	p.backoff = min(max(backoffFirst, time.Duration(float64(p.backoff)*backoffFactor)), backoffMax)
	p.core.after(p.backoff, func() {
		p.lastFailure = ""
		p.retryWaiting()
	})
}
