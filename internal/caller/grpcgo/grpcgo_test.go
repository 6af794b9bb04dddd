package grpcgo_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a greeter and counts its connections.
func serve(t *testing.T, server *workload.Server) (target caller.Target, connections func() int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Log = slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(ctx, listener) })
	t.Cleanup(func() {
		stop()
		served.Wait()
	})
	var mu sync.Mutex
	dialled := 0
	return caller.Target{
			URI: "passthrough:///" + listener.Addr().String(),
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				mu.Lock()
				dialled++
				mu.Unlock()
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			},
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return dialled
		}
}

func job(channels caller.Channels) caller.Job {
	return caller.Job{Channels: channels, Timeout: time.Minute, Workload: workload.Spec{Greet: &workload.Greet{}}}
}

func run(t *testing.T, j caller.Job, target caller.Target, calls int) measure.Measurement {
	t.Helper()
	session, err := grpcgo.Caller{}.Open(j, target)
	if err != nil {
		t.Fatal(err)
	}
	measured := callertest.Load(t, session, pace.Burst{Calls: calls})
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	return measured
}

func TestCallsShareChannelsByMode(t *testing.T) {
	for _, test := range []struct {
		channels caller.Channels
		want     int // connections for 40 calls
	}{
		{caller.Channels{Mode: caller.Shared}, 1},
		{caller.Channels{Mode: caller.Pool, Pool: 4}, 4},
		{caller.Channels{Mode: caller.PerCall}, 40},
	} {
		target, connections := serve(t, &workload.Server{ID: "b7"})
		got := run(t, job(test.channels), target, 40)
		if got.Backends["b7"] != 40 || len(got.Errors) != 0 || connections() != test.want {
			t.Errorf("%+v: backends %v, errors %v, %d connections; want 40 calls over %d connections", test.channels, got.Backends, got.Errors, connections(), test.want)
		}
		if got.CPU <= 0 {
			t.Errorf("%+v: the CPU time of the calls is %v, want more than 0", test.channels, got.CPU)
		}
	}
}

func TestOpenRejectsUnknownChannelModes(t *testing.T) {
	for _, channels := range []caller.Channels{{}, {Mode: "shard"}, {Mode: caller.Pool}} {
		if _, err := (grpcgo.Caller{}).Open(job(channels), caller.Target{URI: "passthrough:///x"}); err == nil {
			t.Errorf("a session with channels %+v was opened, want an error", channels)
		}
	}
}

func TestFailedCallsHaveACodeAndAMessage(t *testing.T) {
	slow, _ := serve(t, &workload.Server{ID: "b", Delay: time.Minute})
	limited := job(caller.Channels{Mode: caller.Shared})
	limited.Timeout = 50 * time.Millisecond
	if m := run(t, limited, slow, 3); m.Errors["DEADLINE_EXCEEDED"] != 3 || m.Samples["DEADLINE_EXCEEDED"] == "" {
		t.Errorf("a slow server: errors %v, samples %v; want 3 of DEADLINE_EXCEEDED with a message", m.Errors, m.Samples)
	}
	limited.Timeout = time.Minute
	unreachable := caller.Target{URI: "passthrough:///127.0.0.1:1"}
	if m := run(t, limited, unreachable, 3); m.Errors["UNAVAILABLE"] != 3 || !strings.Contains(m.Samples["UNAVAILABLE"], "refused") {
		t.Errorf("no server: errors %v, samples %v; want 3 of UNAVAILABLE that say refused", m.Errors, m.Samples)
	}
}

func TestAResponseWithoutABackendIsDataLoss(t *testing.T) {
	target, _ := serve(t, &workload.Server{ID: ""})
	if m := run(t, job(caller.Channels{Mode: caller.Shared}), target, 2); m.Errors["DATA_LOSS"] != 2 {
		t.Errorf("the errors are %v, want 2 of DATA_LOSS", m.Errors)
	}
}
