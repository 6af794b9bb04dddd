// Package netfault injects network faults between callers and a backend: it resets
// connections, or drops packets. It needs Linux and root.
package netfault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// maxTries is how often to read the list of connections when it changes meanwhile: an interrupted
// list may be incomplete.
const maxTries = 10

// ResetConnections ends every connection to a listener at an address, except those from the
// address except. The backend's end fails with ECONNABORTED; the kernel sends an RST, so the
// other end fails with ECONNRESET. The listener stays open.
func ResetConnections(at netip.AddrPort, except netip.Addr) error {
	sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
	for tries := 1; tries < maxTries && errors.Is(err, netlink.ErrDumpInterrupted); tries++ {
		sockets, err = netlink.SocketDiagTCP(unix.AF_INET)
	}
	if err != nil {
		return fmt.Errorf("list the connections of %s: %w", at, err)
	}
	var errs []error
	for _, s := range sockets {
		from, _ := netip.AddrFromSlice(s.ID.Source)
		to, _ := netip.AddrFromSlice(s.ID.Destination)
		live := s.State != netlink.TCP_LISTEN && s.State != netlink.TCP_TIME_WAIT
		if live && netip.AddrPortFrom(from.Unmap(), s.ID.SourcePort) == at && to.Unmap() != except {
			if err := destroy(s); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 { // the others fail for the same reason
		return fmt.Errorf("reset the connections of %s: %w%s", at, errs[0], hint(errs[0]))
	}
	return nil
}

// destroy sends SOCK_DESTROY (sock_diag(7)). The cookie identifies the socket: without it the
// kernel would destroy the listener when the connection has just ended.
func destroy(s *netlink.Socket) error {
	r := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
	r.AddData(request(s.ID))
	_, err := r.Execute(unix.NETLINK_INET_DIAG, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) {
		return nil // the connection has ended
	}
	return err
}

// request is struct inet_diag_req_v2 of linux/inet_diag.h.
type request netlink.SocketID

func (r request) Len() int { return 56 }

func (r request) Serialize() []byte {
	b := []byte{unix.AF_INET, unix.IPPROTO_TCP, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, 1<<32-1) // all states
	b = binary.BigEndian.AppendUint16(b, r.SourcePort)
	b = binary.BigEndian.AppendUint16(b, r.DestinationPort)
	var addrs [32]byte
	copy(addrs[:16], r.Source.To4())
	copy(addrs[16:], r.Destination.To4())
	b = append(b, addrs[:]...)
	b = binary.NativeEndian.AppendUint32(b, r.Interface)
	b = binary.NativeEndian.AppendUint32(b, r.Cookie[0])
	return binary.NativeEndian.AppendUint32(b, r.Cookie[1])
}

// hint says what to do about an error.
func hint(err error) string {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "; this needs root (CAP_NET_ADMIN): run it with sudo"
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return "; this kernel does not support it (CONFIG_INET_DIAG_DESTROY, CONFIG_NF_TABLES)"
	}
	return ""
}
