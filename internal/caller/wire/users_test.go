package wire_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	accepted *atomic.Int64
}

func (c countingListener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}

// countingBackend starts a backend that counts its connections.
func countingBackend(t *testing.T, rest bool) (addr string, accepted *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int64)
	ctx, cancel := context.WithCancel(context.Background())
	model := workload.GRPC
	if rest {
		model = workload.REST
	}
	server := &workload.Server{ID: "b1", Model: model, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, countingListener{listener, accepted}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), accepted
}

// Calls are orders of 100 articles.
func TestUsersShareConnectionsByChannelMode(t *testing.T) {
	const users, calls = 20, 100
	for _, test := range []struct {
		name    string
		rest    bool
		library caller.Caller
	}{
		{"wire by gRPC", false, wire.Caller{}},
		{"wire by REST", true, wire.Caller{}},
		{"grpc-go", false, grpcgo.Caller{}},
		{"http", true, nethttp.Caller{}},
	} {
		for _, mode := range []string{caller.PerUser, caller.PerCall, caller.Shared} {
			t.Run(test.name+" "+mode, func(t *testing.T) {
				addr, accepted := countingBackend(t, test.rest)
				session, err := test.library.Open(caller.Job{
					Channels: caller.Channels{Mode: mode}, Timeout: time.Minute, REST: test.rest,
					Workload: workload.Spec{Orders: &workload.Orders{Articles: 100}},
				}, caller.Target{URI: "passthrough:///" + addr})
				if err != nil {
					t.Fatal(err)
				}
				warm := callertest.Load(t, session, pace.Burst{Calls: 1}) // without a user
				before := accepted.Load()
				m := callertest.Load(t, session, pace.Closed{Users: users, Calls: calls, Ramp: time.Millisecond, Think: time.Millisecond, Duration: time.Minute})
				if warm.Backends["b1"] != 1 || m.Backends["b1"] != calls {
					t.Errorf("backends %v, errors %v %v; want %d calls by b1", m.Backends, m.Errors, m.Samples, calls)
				}
				least, most := map[string]int64{caller.PerUser: users, caller.PerCall: calls}[mode], map[string]int64{caller.PerUser: users, caller.PerCall: calls, caller.Shared: 2 * users}[mode]
				if opened := accepted.Load() - before; opened < least || opened > most {
					t.Errorf("the server accepted %d connections, want %d to %d", opened, least, most)
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
