package wire

import (
	"slices"
	"time"

	"rpclab/internal/wire/chain"
	"rpclab/internal/wire/h2"
)

// pool keeps connections that carry one call at a time, as those of HTTP/1.1 do. A call
// gets the connection that was free last, else a new one while the bound allows, else
// the first that becomes free.
type pool struct {
	core     *core
	most     int // connections
	first    int // that are opened before there are calls; 0: they have stood
	standing int
	opening  int
	free     []*link
	waiting  chain.List[call]

	turn    int    // the address that is tried or used
	misses  int    // attempts to connect that failed in a row, each with another address
	failed  string // why nobody tries for a while; "": somebody may
	backoff time.Duration
}

func newPool(c *core) *pool {
	p := &pool{core: c, most: (c.cfg.Channels - c.index + c.cfg.Cores - 1) / c.cfg.Cores}
	p.first = p.most
	if c.cfg.OnDemand {
		p.first = 1
	}
	return p
}

// update follows the addresses: connections to those that are gone finish what they have.
func (p *pool) update(addrs []string) {
	p.turn, p.misses, p.failed = 0, 0, ""
	for _, l := range slices.Clone(p.core.links) {
		if l != nil && l.owner == owner(p) && !slices.Contains(addrs, l.addr) {
			l.drain("the address was removed")
		}
	}
	p.settle()
}

// start makes a call on a free connection, or lets it wait for one.
func (p *pool) start(k *call) {
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		l.free, p.free = false, p.free[:n-1]
		l.start(k)
		return
	}
	if why := p.hopeless(); why != "" {
		p.core.failed(k, h2.Status{Code: h2.Unavailable, Message: why})
		return
	}
	p.waiting.Push(k, &k.queued)
	p.grow()
}

// freed gives a connection without a call to the next one, or keeps it.
func (p *pool) freed(l *link) {
	if l.free || l.draining || l.conn.Active() > 0 || !l.conn.Usable() {
		return
	}
	if k := p.waiting.First(); k != nil {
		k.queued.Leave()
		l.start(k)
		return
	}
	l.free = true
	p.free = append(p.free, l)
}

// grow opens connections for the calls that wait.
func (p *pool) grow() {
	addrs := p.core.addrs
	for p.failed == "" && len(addrs) > 0 && !p.core.closing &&
		p.opening < max(p.waiting.Len(), p.first-p.standing) && p.opening+p.standing < p.most {
		p.opening++
		p.core.open(p, addrs[p.turn%len(addrs)])
		if p.core.cfg.Spread {
			p.turn++
		}
	}
}

// hopeless says why calls cannot wait; "" when they can.
func (p *pool) hopeless() string {
	switch {
	case len(p.core.addrs) == 0:
		return p.core.nowhere
	case p.opening+p.standing == 0:
		return p.failed
	}
	return ""
}

// settle goes on with the calls that wait, once something has changed.
func (p *pool) settle() {
	p.grow()
	if why := p.hopeless(); why != "" {
		for k := p.waiting.First(); k != nil; k = p.waiting.First() {
			p.core.failed(k, h2.Status{Code: h2.Unavailable, Message: why})
		}
	}
	p.core.connected()
}

func (p *pool) ready(l *link) {
	p.opening--
	p.standing++
	p.misses, p.failed, p.backoff = 0, "", 0
	if p.standing >= p.first {
		p.first = 0
	}
	p.freed(l)
	p.settle()
}

func (p *pool) lost(l *link, why string) {
	core := p.core
	if i := slices.Index(p.free, l); l.free && i >= 0 {
		l.free, p.free = false, slices.Delete(p.free, i, i+1)
	}
	if l.conn == nil {
		p.opening--
		p.missed(l, why)
	} else {
		p.standing--
	}
	if core.closing {
		return
	}
	if core.cfg.Lost != nil && !l.idle {
		core.cfg.Lost()
	}
	core.after(0, p.settle)
}

// missed goes on to the next address, and rests when all of them have failed.
func (p *pool) missed(l *link, why string) {
	addrs := p.core.addrs
	if !slices.Contains(addrs, l.addr) {
		return
	}
	if !p.core.cfg.Spread {
		if l.addr != addrs[p.turn%len(addrs)] { // others went there too, and said so
			return
		}
		p.turn++
	}
	if p.misses++; p.misses < len(addrs) {
		return
	}
	p.misses, p.failed = 0, why
	p.backoff = min(max(backoffFirst, time.Duration(float64(p.backoff)*backoffFactor)), backoffMost)
	p.core.after(p.backoff, func() {
		p.failed = ""
		p.settle()
	})
}

// stands says whether the first connections stand or have done so, and why that cannot be.
func (p *pool) stands() (all bool, why string) {
	if len(p.core.addrs) == 0 {
		return false, p.core.nowhere
	}
	return p.first == 0, p.failed
}
