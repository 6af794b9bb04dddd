package grpcgo

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// TestKeepaliveFindsDeadConnections takes 10 s, the shortest time that gRPC accepts.
func TestKeepaliveFindsDeadConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { // it sends SETTINGS, and then nothing
				_ = http2.NewFramer(conn, nil).WriteSettings()
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	job := caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Minute, Workload: workload.Spec{Greet: &workload.Greet{}},
		Keepalive: &caller.Keepalive{Time: 10 * time.Second, Timeout: 100 * time.Millisecond},
	}
	session := callertest.Open(t, Caller{}, job, caller.Target{URI: "passthrough:///" + listener.Addr().String(), Close: func() {}})
	m := callertest.Load(t, session, pace.Sequence(1))
	if m.Errors["UNAVAILABLE"] != 1 || !strings.Contains(m.Samples["UNAVAILABLE"], "keepalive ping failed") {
		t.Errorf("errors %v %v, want UNAVAILABLE because of a PING", m.Errors, m.Samples)
	}
}
