package load

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
)

// serveWatches serves streams of testdata/streams.proto that end only when the client cancels them, as
// those of health checks do: three answers to the first message. Echo fails when the client closes its
// side, as etcd's Watch ends.
func serveWatches(t *testing.T) (address string) {
	t.Helper()
	watch := func(bidirectional bool) grpc.StreamHandler {
		return func(_ any, stream grpc.ServerStream) error {
			note := &rpclabv1.HelloRequest{}
			if err := stream.RecvMsg(note); err != nil {
				return err
			}
			for range 3 {
				if err := stream.SendMsg(note); err != nil {
					return err
				}
			}
			if bidirectional {
				return stream.RecvMsg(note)
			}
			<-stream.Context().Done()
			return stream.Context().Err()
		}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: watch(true), ServerStreams: true, ClientStreams: true},
		{StreamName: "Repeat", Handler: watch(false), ServerStreams: true},
	}}, nil)
	return serveGRPC(t, server)
}

func TestStreamsThatNeverEndAreEndedByTheClient(t *testing.T) {
	address := serveWatches(t)
	for _, engine := range []string{Wire, GRPCGo} {
		for _, method := range []string{"Echo", "Repeat"} {
			s := streaming(address, method, 0, false)
			s.Engine, s.Calls, s.StreamMessages = engine, 6, 2
			d := run(t, s)
			if a := d.Arms[0]; a.Calls != 6 || len(a.Errors) > 0 || !strings.Contains(d.Question, "ended by rpclab after 2 of them") {
				t.Errorf("%s, %s after 2 messages: %d calls, errors %v %v: %s", engine, method, a.Calls, a.Errors, a.Samples, d.Question)
			}
			s.StreamMessages, s.StreamDuration = 0, 50*time.Millisecond
			if a := run(t, s).Arms[0]; a.Calls != 6 || len(a.Errors) > 0 || a.Service.Min < 49.9 {
				t.Errorf("%s, %s after 50 ms: %d calls of at least %.1f ms, errors %v %v", engine, method, a.Calls, a.Service.Min, a.Errors, a.Samples)
			}
			s.StreamDuration, s.Timeout, s.Calls = 0, time.Second, 1
			if a := run(t, s).Arms[0]; method == "Repeat" && a.Errors["DEADLINE_EXCEEDED"] != 1 {
				t.Errorf("%s, %s without a limit: errors %v %v", engine, method, a.Errors, a.Samples)
			}
		}
	}
	for want, change := range map[string]func(*Settings){
		"test.Streams/Join does not stream responses":                     func(s *Settings) { s.Call, s.StreamMessages = "test.Streams/Join", 1 },
		"--stream-duration 1m0s is not shorter than --timeout 20s, which": func(s *Settings) { s.StreamDuration, s.Timeout = time.Minute, 20*time.Second },
	} {
		s := streaming(address, "Echo", 0, false)
		change(&s)
		if _, err := Open(t.Context(), s); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// Health checks watch with a stream that never ends. The server counts the same calls.
func TestHealthWatchesAreEndedByTheClient(t *testing.T) {
	var ended, cancelled atomic.Int64
	server := grpc.NewServer(grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		err := handle(service, stream)
		if strings.HasSuffix(info.FullMethod, "/Watch") {
			if status.Code(err) == codes.Canceled {
				cancelled.Add(1)
			}
			ended.Add(1)
		}
		return err
	}))
	healthv1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	address := serveGRPC(t, server)
	expected := int64(0)
	for _, engine := range []string{Wire, GRPCGo} {
		for name, limit := range map[string]func(*Settings){
			"--stream-messages 1":  func(s *Settings) { s.StreamMessages = 1 },
			"--stream-duration 1s": func(s *Settings) { s.StreamDuration = time.Second },
		} {
			s := validSettings()
			s.Target, s.Call, s.Data, s.Engine, s.Calls, s.Concurrency = address, "grpc.health.v1.Health/Watch", "{}", engine, 6, 3
			limit(&s)
			arm := run(t, s).Arms[0]
			if arm.Calls != 6 || len(arm.Errors) > 0 || arm.Messages == nil {
				t.Errorf("%s, %s: %d calls, errors %v %v, responses %v; want 6 calls with their responses", engine, name, arm.Calls, arm.Errors, arm.Samples, arm.Messages)
				continue
			}
			if times, err := arm.Messages.Decode(); err != nil || times.TotalCount() != 6 {
				t.Errorf("%s, %s: %d responses, %v; want the state of the server once in each of 6 calls", engine, name, times.TotalCount(), err)
			}
			expected += 6
			testkit.Await(t, "the server ends the watches", func() bool { return ended.Load() == expected })
			if cancelled.Load() != expected {
				t.Errorf("%s, %s: the server saw %d of %d watches cancelled, want all", engine, name, cancelled.Load(), expected)
			}
		}
	}
}

// A server that never responds is no success, unless streams may be empty.
func TestAStreamEndedByItsDurationNeedsAResponse(t *testing.T) {
	address := serveWatches(t)
	for _, engine := range []string{Wire, GRPCGo} {
		s := streaming(address, "Echo", 0, false)
		s.Engine, s.Calls, s.NoMessages, s.Data, s.StreamDuration = engine, 4, true, "", 50*time.Millisecond
		const want = "no response within --stream-duration 50ms; if a stream may be empty, set --stream-empty"
		if arm := run(t, s).Arms[0]; arm.Errors["DEADLINE_EXCEEDED"] != 4 || arm.Samples["DEADLINE_EXCEEDED"] != want {
			t.Errorf("%s: the errors are %v %q, want 4 of %q", engine, arm.Errors, arm.Samples, want)
		}
		s.StreamEmpty = true
		if arm := run(t, s).Arms[0]; arm.Calls != 4 || arm.Failed() != 0 {
			t.Errorf("%s, streams may be empty: %d calls, errors %v %v", engine, arm.Calls, arm.Errors, arm.Samples)
		}
	}
	s := streaming(address, "Echo", 0, false)
	s.StreamEmpty = true
	if _, err := Open(t.Context(), s); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "--stream-empty needs --stream-duration") {
		t.Errorf("the error is %v, want one that names --stream-duration", err)
	}
}

// A stream that ends at its deadline says what it still waited for.
func TestAStreamThatDoesNotEndSaysWhy(t *testing.T) {
	address := serveWatches(t)
	for _, c := range []struct {
		method string
		change func(*Settings)
		want   string
	}{
		{"Repeat", func(s *Settings) { s.StreamMessages = 5 },
			"the stream did not end within 300ms: it had 3 of the 5 responses of --stream-messages"},
		{"Echo", func(s *Settings) { s.StreamMessages = 5 },
			"the stream did not end within 300ms: it had 3 of the 5 responses of --stream-messages, and --messages is 1"},
		{"Echo", func(s *Settings) { s.StreamMessages, s.NoMessages, s.Data = 5, true, "" },
			"the stream did not end within 300ms: it had 0 of the 5 responses of --stream-messages, and --messages is 0"},
		{"Repeat", func(*Settings) {},
			"the stream did not end within 300ms (responses so far: 3); raise --timeout, or end it with --stream-messages or --stream-duration"},
	} {
		for _, engine := range []string{Wire, GRPCGo} {
			s := streaming(address, c.method, 0, false)
			s.Engine, s.Timeout, s.Calls = engine, 300*time.Millisecond, 2
			c.change(&s)
			if arm := run(t, s).Arms[0]; arm.Errors["DEADLINE_EXCEEDED"] != 2 || arm.Samples["DEADLINE_EXCEEDED"] != c.want {
				t.Errorf("%s: %s has the errors %v %q, want 2 of %q", engine, c.method, arm.Errors, arm.Samples, c.want)
			}
		}
	}
}

// A stream that the server ends first is a success, and a warning.
func TestAStreamThatTheServerEndsFirstIsAWarning(t *testing.T) {
	address := serveStreams(t)
	const want = "20 calls had 60 responses, not 5 each as --stream-messages says, because the server ended streams first"
	for _, engine := range []string{Wire, GRPCGo} {
		s := streaming(address, "Repeat", 0, false)
		s.Engine, s.StreamMessages = engine, 5
		document := run(t, s)
		if warnings := strings.Join(document.Warnings, "\n"); document.Arms[0].Failed() != 0 || !strings.Contains(warnings, want) {
			t.Errorf("%s: errors %v, warnings %q; want %q", engine, document.Arms[0].Samples, warnings, want)
		}
		s.StreamMessages = 3
		if warnings := strings.Join(run(t, s).Warnings, "\n"); strings.Contains(warnings, "--stream-messages") {
			t.Errorf("%s: the warnings are %q, want none of --stream-messages", engine, warnings)
		}
	}
}
