package grpcgo_test

import (
	"context"
	"net"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/pace"
	"rpclab/internal/workload"
)

// slowGreeter answers after 10 ms.
type slowGreeter struct {
	rpclabv1.UnimplementedGreeterServer
}

const slowDelay = 10 * time.Millisecond

func (slowGreeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	<-time.After(slowDelay)
	return &rpclabv1.HelloReply{Message: "Hello, " + request.Name, Backend: "b"}, grpc.SetTrailer(ctx, metadata.Pairs(workload.BackendTrailer, "b"))
}

func serveSlowly(t *testing.T, options ...grpc.ServerOption) caller.Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	rpclabv1.RegisterGreeterServer(server, slowGreeter{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return caller.Target{URI: "passthrough:///" + listener.Addr().String()}
}

// The service times of calls that run one after another cannot overlap. The wait of a call for the
// stream of the previous one is lateness.
func TestAWaitForAStreamCountsAsLateness(t *testing.T) {
	const calls = 10
	session := callertest.Open(t, grpcgo.Caller{}, job(caller.Channels{Mode: caller.Shared}), serveSlowly(t, grpc.MaxConcurrentStreams(1)))
	callertest.Load(t, session, pace.Sequence(1)) // connects
	m := callertest.Load(t, session, pace.Burst{Calls: calls})
	sum := func() time.Duration { return time.Duration(decode(t, m.Service).Mean() * calls) }
	for try := 1; try < 3 && sum() > m.Elapsed*11/10; try++ { // on a busy machine a call may be recorded when the next one already runs
		m = callertest.Load(t, session, pace.Burst{Calls: calls})
	}
	lateness := decode(t, m.Lateness)
	if m.Calls != calls || len(m.Errors) > 0 || m.Waited < calls-1 {
		t.Errorf("%d calls, %d waited, errors %v %v; want %d calls, of which %d waited", m.Calls, m.Waited, m.Errors, m.Samples, calls, calls-1)
	}
	if sum() > m.Elapsed*11/10 {
		t.Errorf("%d calls in turn took %v, but their service times add up to %v", calls, m.Elapsed, sum())
	}
	if most := time.Duration(lateness.Max()); most < (calls-1)*slowDelay*999/1000 {
		t.Errorf("the last call was late by %v, want at least %v", most, (calls-1)*slowDelay)
	}
}

// A call that opens a connection waits for the network, not for other calls.
func TestOpeningAConnectionIsServiceTime(t *testing.T) {
	target := serveSlowly(t)
	const handshake = 50 * time.Millisecond
	target.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		<-time.After(handshake)
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	for _, mode := range []string{caller.Shared, caller.PerCall} {
		m := run(t, job(caller.Channels{Mode: mode}), target, 1)
		if service := time.Duration(decode(t, m.Service).Min()); m.Waited != 0 || service < (handshake+slowDelay)*999/1000 {
			t.Errorf("%s: %d calls waited, service time %v; want a call of at least %v that did not wait", mode, m.Waited, service, handshake+slowDelay)
		}
	}
}

// The deadline of a call also limits its wait for a stream.
func TestTheDeadlineIncludesTheWaitForAStream(t *testing.T) {
	impatient := job(caller.Channels{Mode: caller.Shared})
	impatient.Timeout = 500 * time.Millisecond
	session := callertest.Open(t, grpcgo.Caller{}, impatient, serveNever(t))
	m := callertest.Load(t, session, pace.Burst{Calls: 3}) // connects
	m = callertest.Load(t, session, pace.Burst{Calls: 3})
	if lateness := decode(t, m.Lateness); m.Errors["DEADLINE_EXCEEDED"] != 3 || m.Waited < 2 || time.Duration(lateness.Max()) < impatient.Timeout*9/10 {
		t.Errorf("errors %v %v, %d waited, the last for %v; want 3 DEADLINE_EXCEEDED, of which 2 were never sent", m.Errors, m.Samples, m.Waited, time.Duration(lateness.Max()))
	}
}

// serveNever serves one stream at a time, which never ends.
func serveNever(t *testing.T) caller.Target {
	return serveSlowly(t, grpc.MaxConcurrentStreams(1), grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
}

func decode(t *testing.T, text string) *hdr.Histogram {
	t.Helper()
	h, err := hdr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}
