package local

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
)

// usualPort is the port of a backend unless something else on this machine has it.
const usualPort = 50051

// places hands out where backends listen: on Linux, where the whole of 127.0.0.0/8
// is loopback, an address each and one port; elsewhere a port each. None is used
// twice in a run, so that an old connection cannot meet a new backend.
type places struct {
	own  netip.Addr // where the cluster itself listens
	port int        // of every backend; with one address: of the first

	mu   sync.Mutex
	next netip.AddrPort
	one  bool
}

func newPlaces(oneAddress bool) (*places, error) {
	if oneAddress || runtime.GOOS != "linux" {
		ip := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		return &places{own: ip, port: 0, one: true}, nil
	}
	// A block of its own keeps two runs at the same time apart.
	base := netip.AddrFrom4([4]byte{127, byte(64 + rand.N(128)), byte(rand.N(256)), 1})
	for _, port := range []uint16{usualPort, 0} {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(base, port)))
		if err != nil {
			continue
		}
		free := listener.Addr().(*net.TCPAddr).AddrPort().Port()
		if err := listener.Close(); err != nil {
			return nil, err
		}
		return &places{own: base, port: int(free), next: netip.AddrPortFrom(base.Next(), free)}, nil
	}
	return nil, fmt.Errorf("no port is free on %s: see whether a firewall forbids loopback addresses", base)
}

// prober is the address that probes come from, and nothing else; not valid: there is none.
func (p *places) prober() netip.Addr {
	if p.one {
		return netip.Addr{}
	}
	return p.own
}

// take returns a place that no backend had before.
func (p *places) take() (netip.AddrPort, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.one {
		place := p.next
		p.next = netip.AddrPortFrom(place.Addr().Next(), place.Port())
		return place, nil
	}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.own, 0)))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("find a free port on %s: %w", p.own, err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).AddrPort(), nil
}
