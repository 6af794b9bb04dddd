package measure

import (
	"net"
	"testing"

	"rpclab/internal/testkit"
)

func TestCounterOfAGroup(t *testing.T) {
	const text = "Ip: Forwarding OutSegs\nIp: 1 7\nTcp: RtoAlgorithm ActiveOpens OutSegs\nTcp: 1 12 34\nUdp: OutSegs\n"
	for _, c := range []struct {
		group, name string
		want        uint64
	}{{"Tcp:", "ActiveOpens", 12}, {"Tcp:", "OutSegs", 34}, {"Tcp:", "Other", 0}, {"Udp:", "OutSegs", 0}, {"Icmp:", "OutSegs", 0}} {
		if got := counterOf(text, c.group, c.name); got != c.want {
			t.Errorf("%s %s is %d, want %d", c.group, c.name, got, c.want)
		}
	}
}

// Other programs of the machine may add to the counters.
func TestTheKernelCountsConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	before := ReadKernelCounters()
	for range 20 {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.Close()
	}
	// The calls above may all return without a switch.
	testkit.Await(t, "a context switch", func() bool { return ReadKernelCounters().Since(before).Switches > 0 })
	if got := ReadKernelCounters().Since(before); got.Connections < 20 || got.Segments < 60 || got.Bytes < 20*3*40 {
		t.Errorf("%+v of 20 connections", got)
	}
}
