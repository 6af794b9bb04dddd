// Package cut cuts what is between callers and a backend, as a broken network would: by
// resets, or by packets that vanish. It is there on Linux, for root.
package cut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// mostTries is how often the list of connections is asked for that changes meanwhile: one
// that is not whole may lack those to end.
const mostTries = 10

// Reset ends every connection to a listener at an address with RST, except those from
// spare: its own end as if the network had sent one (ECONNABORTED), the other end by the
// one that it sends then (ECONNRESET). The listener stays.
func Reset(at netip.AddrPort, spare netip.Addr) error {
	sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
	for tries := 1; tries < mostTries && errors.Is(err, netlink.ErrDumpInterrupted); tries++ {
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
		if live && netip.AddrPortFrom(from.Unmap(), s.ID.SourcePort) == at && to.Unmap() != spare {
			if err := destroy(s); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 { // one says it: they fail alike
		return fmt.Errorf("reset the connections of %s: %w%s", at, errs[0], remedy(errs[0]))
	}
	return nil
}

// destroy is SOCK_DESTROY (sock_diag(7)). The socket's cookie makes sure that it is that
// one: without, the kernel takes the listener in place of a connection that is gone.
func destroy(s *netlink.Socket) error {
	r := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
	r.AddData(request(s.ID))
	_, err := r.Execute(unix.NETLINK_INET_DIAG, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) {
		return nil // it ended by itself
	}
	return err
}

// request is struct inet_diag_req_v2 of linux/inet_diag.h.
type request netlink.SocketID

func (r request) Len() int { return 56 }

func (r request) Serialize() []byte {
	b := []byte{unix.AF_INET, unix.IPPROTO_TCP, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, 1<<32-1) // in whatever state
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

// remedy says what to do about an error.
func remedy(err error) string {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "; this needs root (CAP_NET_ADMIN): run it with sudo"
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT):
		return "; this kernel lacks it (CONFIG_INET_DIAG_DESTROY, CONFIG_NF_TABLES)"
	}
	return ""
}
