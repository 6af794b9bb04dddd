// Package netfault injects network faults between callers and a backend: it resets
// connections, or drops packets. It needs Linux and root.
package netfault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// maxTries is how often to read the list of connections when it changes meanwhile: an interrupted
// list may be incomplete.
const maxTries = 10

// ResetConnections ends every connection to a listener at an address, except those from the
// address except. The backend's end fails with ECONNABORTED; the kernel sends an RST, so the
// other end fails with ECONNRESET. The listener stays open.
func ResetConnections(at netip.AddrPort, except netip.Addr) error {
	conn, err := netlink.Dial(unix.NETLINK_INET_DIAG, nil)
	if err != nil {
		return fmt.Errorf("ask the kernel for connections: %w%s", err, hint(err))
	}
	defer conn.Close()
	sockets, err := list(conn)
	for tries := 1; tries < maxTries && errors.Is(err, errInterrupted); tries++ {
		sockets, err = list(conn)
	}
	if err != nil {
		return fmt.Errorf("list the connections of %s: %w", at, err)
	}
	var errs []error
	for _, s := range sockets {
		if s.live() && s.from() == at && s.to() != except {
			if err := s.destroy(conn); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 { // the others fail for the same reason
		return fmt.Errorf("reset the connections of %s: %w%s", at, errs[0], hint(errs[0]))
	}
	return nil
}

// socket is struct inet_diag_msg of linux/inet_diag.h.
type socket []byte

// Where a socket has its family, its state and its ID, struct inet_diag_sockid: ports, addresses of 16 bytes, interface
// and cookie.
const (
	familyAt, stateAt, idAt      = 0, 1, 4
	fromAt, toAt, toEnds         = 8, 24, 40
	idEnds                       = 52
	listening, timeWait     byte = 10, 6 // of enum in include/net/tcp_states.h
)

func (s socket) live() bool { return s[stateAt] != listening && s[stateAt] != timeWait }

func (s socket) from() netip.AddrPort {
	return netip.AddrPortFrom(s.address(s[fromAt:toAt]), binary.BigEndian.Uint16(s[idAt:]))
}

func (s socket) to() netip.Addr { return s.address(s[toAt:toEnds]) }

// address returns an IPv4 address also if the socket is of IPv6, as those of Java virtual machines and gRPC Core are.
func (s socket) address(of []byte) netip.Addr {
	if s[familyAt] == unix.AF_INET {
		return netip.AddrFrom4([4]byte(of))
	}
	return netip.AddrFrom16([16]byte(of)).Unmap()
}

var errInterrupted = errors.New("the list changed while it was read")

// list returns the TCP sockets of this network namespace.
func list(conn *netlink.Conn) (all []socket, err error) {
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		answers, err := conn.Execute(request(unix.SOCK_DIAG_BY_FAMILY, netlink.Dump, family, make([]byte, idEnds-idAt)))
		if family == unix.AF_INET6 && errors.Is(err, unix.ENOENT) {
			return all, nil // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		for _, m := range answers {
			if m.Header.Flags&netlink.DumpInterrupted != 0 {
				return nil, errInterrupted
			}
			if len(m.Data) >= idEnds {
				all = append(all, m.Data)
			}
		}
	}
	return all, nil
}

// destroy sends SOCK_DESTROY (sock_diag(7)). The cookie in the ID identifies the socket: without it the
// kernel would destroy the listener when the connection has just ended.
func (s socket) destroy(conn *netlink.Conn) error {
	_, err := conn.Execute(request(unix.SOCK_DESTROY, netlink.Acknowledge, s[familyAt], s[idAt:idEnds]))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) {
		return nil // the connection has ended
	}
	return err
}

// request is a message with struct inet_diag_req_v2 of linux/inet_diag.h.
func request(kind netlink.HeaderType, flags netlink.HeaderFlags, family byte, id []byte) netlink.Message {
	head := binary.NativeEndian.AppendUint32([]byte{family, unix.IPPROTO_TCP, 0, 0}, 1<<32-1) // all states
	return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request | flags}, Data: slices.Concat(head, id)}
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
