package wire_test

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/wire"
	"rpclab/internal/workload"
)

// TestMain lets eight tests run at a time: most of them wait for deadlines and idle times.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // the flag exists
	goleak.VerifyTestMain(m)
}

// greeter starts a grpc-go server and returns its address and what stops it.
func greeter(t testing.TB, id string, delay time.Duration) (addr string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop = serve(t, listener, id, delay)
	return listener.Addr().String(), stop
}

// serve serves until the test ends or it is stopped, gracefully.
func serve(t testing.TB, listener net.Listener, id string, delay time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	server := &workload.Server{ID: id, Delay: delay, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// greet returns the greeter's call.
func greet(t testing.TB) wire.Call {
	t.Helper()
	calls, err := workload.Spec{Greet: &workload.Greet{}}.Unary()
	if err != nil {
		t.Fatal(err)
	}
	message, err := proto.Marshal(calls.Request(0))
	if err != nil {
		t.Fatal(err)
	}
	return wire.Call{
		Method: calls.Method, Message: message, Backend: workload.BackendTrailer,
		Check: func(n uint64, response []byte, backend string) error {
			reply := &rpclabv1.HelloReply{}
			if err := proto.Unmarshal(response, reply); err != nil {
				return err
			}
			return calls.Check(n, reply, backend)
		},
	}
}

func engine(t testing.TB, cfg wire.Config, call wire.Call) *wire.Engine {
	t.Helper()
	e, err := wire.New(cfg, call)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func load(t testing.TB, e *wire.Engine, p wire.Pace) measure.Measurement {
	t.Helper()
	recorder, _, err := e.Run(t.Context(), p, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
