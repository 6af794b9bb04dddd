package wire

import (
	"slices"
	"time"

	"rpclab/internal/wire/h2"
)

func newPool(c *core) *pool {
	p := &pool{core: c, limit: (c.cfg.Channels - c.index + c.cfg.Cores - 1) / c.cfg.Cores}
	p.initial = p.limit
	if c.cfg.OnDemand {
		p.initial = 1
	}
	return p
}

// update sets the addresses. Connections to removed addresses close after their call.
func (p *pool) update(addrs []string) {
	p.addressIndex, p.failedDials, p.lastFailure = 0, 0, ""
	for _, l := range slices.Clone(p.core.connections) {
		if l != nil && l.owner == connectionOwner(p) && !slices.Contains(addrs, l.addr) {
			l.drain("the address was removed")
		}
	}
	p.retryWaiting()
}

// start sends a call on a free connection, or lets the call wait for one.
func (p *pool) start(k *call) {
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		l.inPool, p.free = false, p.free[:n-1]
		l.start(k)
		return
	}
	if why := p.failure(); why != "" {
		p.core.failCall(k, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	p.waiting.PushBack(k, &k.queued)
	p.grow()
}

// checkFree gives a free connection to the next waiting call, or keeps it.
func (p *pool) checkFree(l *connection) {
	if l.inPool || l.draining || l.protocol.Active() > 0 || !l.protocol.Usable() {
		return
	}
	if k := p.waiting.Front(); k != nil {
		k.queued.Remove()
		l.start(k)
		return
	}
	l.inPool = true
	p.free = append(p.free, l)
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
		for k := p.waiting.Front(); k != nil; k = p.waiting.Front() {
			p.core.failCall(k, h2.Status{Code: h2.Unavailable, Message: why})
		}
	}
	p.core.checkConnected()
}

func (p *pool) ready(l *connection) {
	p.opening--
	p.connected++
	p.failedDials, p.lastFailure, p.backoff = 0, "", 0
	if p.connected >= p.initial {
		p.initial = 0
	}
	p.checkFree(l)
	p.retryWaiting()
}

func (p *pool) lost(l *connection, why string) {
	core := p.core
	if i := slices.Index(p.free, l); l.inPool && i >= 0 {
		l.inPool, p.free = false, slices.Delete(p.free, i, i+1)
	}
	if l.protocol == nil {
		p.opening--
		p.dialFailed(l, why)
	} else {
		p.connected--
	}
	if core.closing {
		return
	}
	if core.cfg.OnConnectionLost != nil && !l.closedIdle {
		core.cfg.OnConnectionLost()
	}
	core.after(0, p.retryWaiting)
}

// dialFailed goes to the next address, and waits for the backoff when all addresses have failed.
func (p *pool) dialFailed(l *connection, why string) {
	addrs := p.core.addrs
	if !slices.Contains(addrs, l.addr) {
		return
	}
	if !p.core.cfg.RoundRobin {
		if l.addr != addrs[p.addressIndex%len(addrs)] { // another attempt to that address failed before
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
