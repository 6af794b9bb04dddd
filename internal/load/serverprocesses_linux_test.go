package load

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// A server on localhost may listen on one of its two addresses. The CPU time of other programs is known then too.
func TestTheProcessesOfAServerOnOneAddressAreKnown(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	v4 := listener.Addr().String()
	port := netip.MustParseAddrPort(v4).Port()
	v6 := netip.AddrPortFrom(netip.IPv6Loopback(), port).String()
	zone := v4 // without IPv6
	if zoned, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		defer zoned.Close()
		zone = netip.AddrPortFrom(netip.IPv6Loopback().WithZone("lo"), netip.MustParseAddrPort(zoned.Addr().String()).Port()).String()
	}
	for name, c := range map[string]struct {
		addresses []string
		pids      []int
		known     bool
	}{
		"the one":            {[]string{v4}, []int{os.Getpid()}, true},
		"the second":         {[]string{v6, v4}, []int{os.Getpid()}, true},
		"none":               {[]string{v6}, nil, false},
		"of another machine": {[]string{"192.0.2.1:80"}, nil, true},
		"any address":        {[]string{netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()}, []int{os.Getpid()}, true},
		"any IPv6 address":   {[]string{netip.AddrPortFrom(netip.IPv6Unspecified(), port).String()}, []int{os.Getpid()}, true},
		"with a zone":        {[]string{zone}, []int{os.Getpid()}, true},
		"here and not known": {[]string{"192.0.2.1:80", v6}, nil, false},
		"here and far":       {[]string{"192.0.2.1:80", v4}, []int{os.Getpid()}, true},
	} {
		l := Load{to: target{addresses: c.addresses}}
		if pids, known := l.ServerProcesses(); !slices.Equal(pids, c.pids) || known != c.known {
			t.Errorf("%s: processes %v, known: %t; want %v, %t", name, pids, known, c.pids, c.known)
		}
	}
}
