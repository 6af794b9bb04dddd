package netfault

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"rpclab/internal/process"
)

// Offsets of the addresses in an IPv4 header (RFC 791, 3.1), in bytes.
const (
	source      = 12
	destination = 16
)

// errShared protects the machine: packet rules are never added to its own network namespace.
var errShared = errors.New("packets can be dropped only in a network namespace of the run, and this program runs in the machine's")

// DropPackets drops the packets to and from an address, except those from and to the address
// except, until [StopDropping] of the same name. It drops them on input, so that no sender
// gets an error. It fails outside of a network namespace of the run.
func DropPackets(name string, at, except netip.Addr) error {
	if !process.NetworkIsolated() {
		return errShared
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := c.AddTable(table(name))
	chain := c.AddChain(&nftables.Chain{
		Name: "drop", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	})
	for _, match := range [][2]uint32{{destination, source}, {source, destination}} {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: match[0], Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: at.AsSlice()},
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: match[1], Len: 4},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: except.AsSlice()},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("drop packets of %s: %w%s", at, err, hint(err))
	}
	return nil
}

// StopDropping ends DropPackets of the same name, if there is one.
func StopDropping(name string) error {
	if !process.NetworkIsolated() {
		return nil
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	c.DelTable(table(name))
	if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("stop dropping packets: %w", err)
	}
	return nil
}

func table(name string) *nftables.Table {
	return &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "rpclab-" + name}
}
