package cut

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"rpclab/internal/process"
)

// Where the addresses stand in an IPv4 header (RFC 791, 3.1), in bytes.
const (
	source      = 12
	destination = 16
)

// errShared guards the machine: rules for packets are never put into its own network.
var errShared = errors.New("packets can vanish only in a network of the run's own, and this program runs in the machine's")

// Vanish makes the packets to and from an address vanish, except those from and to spare,
// until [Heal] of the same name. They are dropped where they arrive, so that no sender is
// told. It fails unless [process.OwnNetwork] was there first.
func Vanish(name string, at, spare netip.Addr) error {
	if !process.InOwnNetwork() {
		return errShared
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := c.AddTable(table(name))
	chain := c.AddChain(&nftables.Chain{
		Name: "vanish", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	})
	for _, way := range [][2]uint32{{destination, source}, {source, destination}} {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: way[0], Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: at.AsSlice()},
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: way[1], Len: 4},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: spare.AsSlice()},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("make packets of %s vanish: %w%s", at, err, remedy(err))
	}
	return nil
}

// Heal ends what Vanish did under a name; where it did nothing, so does Heal.
func Heal(name string) error {
	if !process.InOwnNetwork() {
		return nil
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	c.DelTable(table(name))
	if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("let packets pass again: %w", err)
	}
	return nil
}

func table(name string) *nftables.Table {
	return &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "rpclab-" + name}
}
