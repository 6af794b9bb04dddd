package publish

import (
	"net/netip"
	"slices"
	"time"

	"rpclab/internal/cluster"
)

// dnsFault is how a name server misbehaves.
type dnsFault struct {
	delay time.Duration // before every answer
	wrong bool          // addresses
}

// SetFault delays every answer from now on, and with wrong answers with addresses at which
// nothing listens. Zero values end the fault.
func (d *DNS) SetFault(delay time.Duration, wrong bool) { d.fault.Store(&dnsFault{delay, wrong}) }

// applyFault waits for the delay and returns the endpoints to answer with.
func (d *DNS) applyFault(now cluster.Snapshot) cluster.Snapshot {
	if delay := d.fault.Load().delay; delay > 0 {
		select {
		case <-time.After(delay):
		case <-d.closing:
		}
	}
	if !d.fault.Load().wrong {
		return now
	}
	now.Endpoints = slices.Clone(now.Endpoints)
	for i, e := range now.Endpoints {
		now.Endpoints[i].Addr = netip.AddrPortFrom(unused(e.Addr.Addr()), e.Addr.Port())
	}
	return now
}

// unused is an address in 127.32.0.0/16 for another address. The cluster never uses that
// range, so connections are refused at once.
func unused(of netip.Addr) netip.Addr {
	if !of.Is4() {
		return of
	}
	ip := of.As4()
	ip[1] = 32
	return netip.AddrFrom4(ip)
}
