//go:build !linux

// Package netfault injects network faults between callers and a backend: it resets
// connections, or drops packets. It needs Linux and root.
package netfault

import (
	"errors"
	"net/netip"
)

var errLinux = errors.New("network faults need Linux")

// ResetConnections ends every connection to a listener at an address with RST, on Linux.
func ResetConnections(at netip.AddrPort, except netip.Addr) error { return errLinux }

// DropPackets drops the packets to and from an address, on Linux.
func DropPackets(name string, at, except netip.Addr) error { return errLinux }

// StopDropping ends DropPackets.
func StopDropping(name string) error { return nil }
