package load

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
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
			s.StreamDuration, s.Timeout, s.Calls = 0, 200*time.Millisecond, 1
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
