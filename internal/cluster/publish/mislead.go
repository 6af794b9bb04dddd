package publish

import (
	"net/netip"
	"slices"
	"time"

	"rpclab/internal/cluster"
)

// misled is how a name server misbehaves.
type misled struct {
	delay time.Duration // before every answer
	lie   bool
}

// Mislead makes the server answer so much later, from then on, and lie: with addresses at
// which nothing listens. Neither makes it prompt and honest again.
func (d *DNS) Mislead(delay time.Duration, lie bool) { d.wrong.Store(&misled{delay, lie}) }

// mislead waits as long as it has to and returns the endpoints as the server tells them.
func (d *DNS) mislead(now cluster.Snapshot) cluster.Snapshot {
	if delay := d.wrong.Load().delay; delay > 0 {
		select {
		case <-time.After(delay):
		case <-d.closing:
		}
	}
	if !d.wrong.Load().lie {
		return now
	}
	now.Endpoints = slices.Clone(now.Endpoints)
	for i, e := range now.Endpoints {
		now.Endpoints[i].Addr = netip.AddrPortFrom(nowhere(e.Addr.Addr()), e.Addr.Port())
	}
	return now
}

// nowhere is an address of 127.32.0.0/16 in place of another one: there no backend is ever
// put, and a connection is refused at once.
func nowhere(instead netip.Addr) netip.Addr {
	if !instead.Is4() {
		return instead
	}
	ip := instead.As4()
	ip[1] = 32
	return netip.AddrFrom4(ip)
}
