package tcp

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve runs a backend of the model tcp and returns its target.
func serve(t *testing.T, server *workload.Server) caller.Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.ID, server.Model, server.Log = "b7", workload.TCP, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return caller.Target{URI: "passthrough:///" + listener.Addr().String()}
}

func load(t *testing.T, mode string, timeout time.Duration, target caller.Target, plan pace.Pace) measure.Measurement {
	t.Helper()
	session, err := Caller{}.Open(caller.Job{
		Channels: caller.Channels{Mode: mode}, Timeout: timeout, Workload: workload.Spec{Increase: &workload.Increase{}},
	}, target)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return callertest.Load(t, session, plan)
}

func TestTCPCallsReturnTheIncreasedNumber(t *testing.T) {
	target := serve(t, &workload.Server{})
	for _, mode := range []string{caller.Shared, caller.PerCall} {
		if m := load(t, mode, time.Minute, target, pace.Closed{Users: 4, Calls: 400}); m.Backends["b7"] != 400 || len(m.Errors) > 0 {
			t.Errorf("channel %s: backends %v, errors %v %v; want 400 calls by b7", mode, m.Backends, m.Errors, m.Samples)
		}
	}
}

func TestFailedTCPCallsHaveAStatusCode(t *testing.T) {
	faulty := &workload.Server{}
	target := serve(t, faulty)
	faulty.SetFault(workload.Fault{Code: 14})
	if m := load(t, caller.Shared, time.Minute, target, pace.Sequence(3)); m.Errors["UNAVAILABLE"] != 3 {
		t.Errorf("a server with an injected code: errors %v, want 3 of UNAVAILABLE", m.Errors)
	}
	faulty.SetFault(workload.Fault{Slow: 500 * time.Millisecond})
	if m := load(t, caller.Shared, 20*time.Millisecond, target, pace.Sequence(2)); m.Errors["DEADLINE_EXCEEDED"] != 2 {
		t.Errorf("a slow server: errors %v, want 2 of DEADLINE_EXCEEDED", m.Errors)
	}
	unreachable := caller.Target{URI: "passthrough:///127.0.0.1:1"}
	if m := load(t, caller.Shared, time.Minute, unreachable, pace.Sequence(2)); m.Errors["UNAVAILABLE"] != 2 {
		t.Errorf("no server: errors %v, want 2 of UNAVAILABLE", m.Errors)
	}
}
