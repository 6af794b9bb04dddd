package publish

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	greeter = Names{Service: "greeter", Namespace: "default", Port: 50051}
	epoch   = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
)

// ready is a backend at 127.0.1.n.
func ready(id string, n int) cluster.Endpoint {
	return cluster.Endpoint{ID: id, Addr: netip.MustParseAddrPort(fmt.Sprintf("127.0.%d.%d:50051", 1+n/250, 1+n%250)), Serving: true}
}

// many are n ready backends: b000, b001 and so on.
func many(n int) []cluster.Endpoint {
	var all []cluster.Endpoint
	for i := range n {
		all = append(all, ready(fmt.Sprintf("b%03d", i), i))
	}
	return all
}

func snapshot(version uint64, endpoints ...cluster.Endpoint) cluster.Snapshot {
	return cluster.Snapshot{Version: version, At: epoch, Endpoints: endpoints}
}
