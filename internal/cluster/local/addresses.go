package local

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
)

// defaultPort is the port of backends, unless another process uses it.
const defaultPort = 50051

// addresses allocates the addresses of backends. On Linux, where 127.0.0.0/8 is loopback,
// each backend has an address and all use one port; elsewhere each has a port. No address is
// used twice in a run, so that no old connection reaches a new backend.
type addresses struct {
	own  netip.Addr // at which the cluster itself listens
	port int        // of every backend; with one address: of the first

	mu   sync.Mutex
	next netip.AddrPort
	one  bool // one address for all backends, with different ports
}

func newAddresses(oneAddress bool) (*addresses, error) {
	if oneAddress || runtime.GOOS != "linux" {
		ip := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		return &addresses{own: ip, port: 0, one: true}, nil
	}
	// A random block separates runs at the same time.
	base := netip.AddrFrom4([4]byte{127, byte(64 + rand.N(128)), byte(rand.N(256)), 1})
	for _, port := range []uint16{defaultPort, 0} {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(base, port)))
		if err != nil {
			continue
		}
		free := listener.Addr().(*net.TCPAddr).AddrPort().Port()
		if err := listener.Close(); err != nil {
			return nil, err
		}
		return &addresses{own: base, port: int(free), next: netip.AddrPortFrom(base.Next(), free)}, nil
	}
	return nil, fmt.Errorf("no port is free on %s: check whether a firewall blocks loopback addresses", base)
}

// probeSource is the source address of health checks, which nothing else uses; invalid: all
// backends share one address, and so do the checks.
func (a *addresses) probeSource() netip.Addr {
	if a.one {
		return netip.Addr{}
	}
	return a.own
}

// allocate returns an address that no backend had before.
func (a *addresses) allocate() (netip.AddrPort, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.one {
		address := a.next
		a.next = netip.AddrPortFrom(address.Addr().Next(), address.Port())
		return address, nil
	}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.own, 0)))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("find a free port on %s: %w", a.own, err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).AddrPort(), nil
}
