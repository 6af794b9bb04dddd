package measure

import (
	"net"
	"net/netip"
	"slices"
)

// LocalListeners returns the processes of this machine that listen on addresses. known is false if a socket listens there
// whose process is not known or only forwards to a container, or if no process is found at any address of this machine. An
// address at which nothing listens does not matter: a server may use one of the two of localhost.
func LocalListeners(addresses []string) (pids []int, known bool) {
	local, err := LocalAddresses()
	if err != nil {
		return nil, false
	}
	here := false
	for _, address := range addresses {
		to, err := netip.ParseAddrPort(address)
		if ip := to.Addr().WithZone(""); err == nil && !ip.IsLoopback() && !ip.IsUnspecified() && !slices.Contains(local, ip) {
			continue
		}
		here = true
		listeners, listening := Listeners(address)
		if listening && len(listeners) == 0 || slices.ContainsFunc(listeners, forwardsToContainer) {
			return nil, false
		}
		pids = append(pids, listeners...)
	}
	return pids, !here || len(pids) > 0
}

// LocalAddresses returns the addresses of this machine's interfaces.
func LocalAddresses() (local []netip.Addr, err error) {
	listed, err := net.InterfaceAddrs()
	for _, address := range listed {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			local = append(local, prefix.Addr())
		}
	}
	return local, err
}
