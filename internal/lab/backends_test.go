package lab

import (
	"net/netip"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/service"
)

// HAProxy names an upstream server by its IP address without brackets, and its port.
func TestBackendsAreNamedByAddressesOfIPv6(t *testing.T) {
	set := cluster.Snapshot{Endpoints: []cluster.Endpoint{{ID: "a", Addr: netip.MustParseAddrPort("[fd00::1]:50051")}, {ID: "b", Addr: netip.MustParseAddrPort("10.0.0.1:50051")}}}
	shares := []measure.Measurement{{Backends: map[string]uint64{"fd00::1:50051": 3, "[fd00::1]:50051": 1, "10.0.0.1:50051": 2, "10.0.0.9:50051": 7}}}
	nameBackends(shares, service.Identity{}, false, []cluster.Snapshot{set})
	if got := shares[0].Backends; len(got) != 2 || got["a"] != 4 || got["b"] != 2 {
		t.Errorf("the backends are %v, want 4 calls of a and 2 of b", got)
	}
}
