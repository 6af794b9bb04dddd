//go:build !linux

// Package cut cuts what is between callers and a backend, as a broken network would: by
// resets, or by packets that vanish. It is there on Linux, for root.
package cut

import (
	"errors"
	"net/netip"
)

var errLinux = errors.New("connections are cut by Linux alone: run it there")

// Reset ends every connection to a listener at an address with RST, on Linux.
func Reset(at netip.AddrPort, spare netip.Addr) error { return errLinux }

// Vanish makes the packets to and from an address vanish, on Linux.
func Vanish(name string, at, spare netip.Addr) error { return errLinux }

// Heal ends what Vanish did.
func Heal(name string) error { return nil }
