package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// serveStreams serves testdata/streams.proto. HelloRequest has the same fields as Note.
func serveStreams(t *testing.T) (address string) {
	t.Helper()
	return serveStreamsThatEcho(t, 1)
}

// serveStreamsThatEcho is the same with an Echo that answers every message a number of times.
func serveStreamsThatEcho(t *testing.T, echoes int) (address string) {
	t.Helper()
	// answerEach answers every message a number of times. With count it also answers the end of the
	// stream with the number of messages.
	answerEach := func(times int, count bool) grpc.StreamHandler {
		return func(_ any, stream grpc.ServerStream) error {
			for n := 0; ; n++ {
				note := &rpclabv1.HelloRequest{}
				err := stream.RecvMsg(note)
				if errors.Is(err, io.EOF) && count {
					return stream.SendMsg(&rpclabv1.HelloRequest{Name: fmt.Sprint(n)})
				} else if errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				for range times {
					if err := stream.SendMsg(note); err != nil {
						return err
					}
				}
			}
		}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: answerEach(echoes, false), ServerStreams: true, ClientStreams: true},
		{StreamName: "Repeat", Handler: answerEach(3, false), ServerStreams: true},
		{StreamName: "Join", Handler: answerEach(0, true), ClientStreams: true},
	}}, nil)
	return serveGRPC(t, server)
}

// serveGRPC serves until the test ends.
func serveGRPC(t *testing.T, server *grpc.Server) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// streaming returns settings that call a method of testdata/streams.proto.
func streaming(address, method string, messages int, pingPong bool) Settings {
	s := validSettings()
	s.Target, s.Call, s.Proto = address, "test.Streams/"+method, "testdata/streams.proto"
	s.Data, s.Messages, s.PingPong, s.Calls, s.Concurrency = `{"name": "n"}`, messages, pingPong, 20, 3
	return s
}

func empty(s Settings) Settings {
	s.NoMessages, s.Data = true, ""
	return s
}

func TestACallOfAStreamingMethodIsAStream(t *testing.T) {
	address := serveStreams(t)
	for what, test := range map[string]struct {
		settings Settings
		answers  int64 // of a call
		question string
	}{
		"from the server":        {streaming(address, "Repeat", 0, false), 3, "each call a stream of responses"},
		"from the client":        {streaming(address, "Join", 50, false), 1, "each call a stream of 50 requests"},
		"bidirectional":          {streaming(address, "Echo", 7, false), 7, "each call a stream of 7 requests and a stream of responses"},
		"ping-pong":              {streaming(address, "Echo", 9, true), 9, "each call a stream of 9 requests, each sent after"},
		"without messages":       {empty(streaming(address, "Echo", 0, false)), 0, "each call a stream without requests and a stream of responses"},
		"one message by default": {streaming(address, "Echo", 0, true), 1, "each call a stream of 1 request"},
	} {
		for _, engine := range []string{Wire, GRPCGo} {
			test.settings.Engine = engine
			d := run(t, test.settings)
			arm := d.Arms[0]
			if arm.Calls != 20 || len(arm.Errors) > 0 || arm.Backends[test.settings.Target] != 20 || arm.Messages == nil != (test.answers == 0) || !strings.Contains(d.Question, test.question) {
				t.Errorf("%s, %s: %s: %d calls, errors %v %v, backends %v, messages %v; want 20 calls without errors", engine, what, d.Question, arm.Calls, arm.Errors, arm.Samples, arm.Backends, arm.Messages)
			}
			if arm.Messages == nil || arm.Trials[0].Messages == nil {
				continue
			}
			times, err := arm.Messages.Decode()
			if err != nil || times.TotalCount() != 20*test.answers || arm.Messages.P50 > arm.Service.Max {
				t.Errorf("%s, %s: %d answers of %g ms, in streams of at most %g ms, %v; want %d answers", engine, what, times.TotalCount(), arm.Messages.P50, arm.Service.Max, err, 20*test.answers)
			}
		}
	}
}

func TestSeveralResponsesToAMessageAreCounted(t *testing.T) {
	address := serveStreamsThatEcho(t, 3)
	for _, engine := range []string{Wire, GRPCGo} {
		for _, pingPong := range []bool{false, true} {
			s := streaming(address, "Echo", 5, pingPong)
			s.Engine = engine
			arm := run(t, s).Arms[0]
			if arm.Calls != 20 || len(arm.Errors) > 0 || arm.Messages == nil {
				t.Errorf("%s, ping-pong %v: %d calls, errors %v %v, responses %v; want 20 calls with their responses", engine, pingPong, arm.Calls, arm.Errors, arm.Samples, arm.Messages)
				continue
			}
			if times, err := arm.Messages.Decode(); err != nil || times.TotalCount() != 20*5*3 {
				t.Errorf("%s, ping-pong %v: %d responses, %v; want 3 to each of 5 messages of 20 calls", engine, pingPong, times.TotalCount(), err)
			}
		}
	}
}

// The times of messages sent one by one add up to the time of the stream. Of messages sent all at
// once, the last takes as long as the stream.
func TestAResponseIsTimedFromItsRequestMessage(t *testing.T) {
	address := serveStreams(t)
	const messages = 200
	for _, engine := range []string{Wire, GRPCGo} {
		oneByOne, atOnce := streaming(address, "Echo", messages, true), streaming(address, "Echo", messages, false)
		oneByOne.Concurrency, atOnce.Concurrency, oneByOne.Engine, atOnce.Engine = 1, 1, engine, engine
		if a := run(t, oneByOne).Arms[0]; a.Messages.Mean*messages > 1.01*a.Service.Mean {
			t.Errorf("%s: one by one, %d answers take %g ms each, want at most the %g ms of the stream in total", engine, messages, a.Messages.Mean, a.Service.Mean)
		}
		if a := run(t, atOnce).Arms[0]; a.Messages.Max < 0.5*a.Service.Min {
			t.Errorf("%s: all at once, the last answer takes %g ms, want at least half of the stream's %g ms", engine, a.Messages.Max, a.Service.Min)
		}
	}
}

func TestUnsupportedStreamsAreRejected(t *testing.T) {
	withData := streaming("127.0.0.1:1", "Echo", 0, false)
	withData.NoMessages = true
	for want, settings := range map[string]Settings{
		"--messages 0: test.Streams/Repeat accepts one message per call":  empty(streaming("127.0.0.1:1", "Repeat", 0, false)),
		"--messages 0 sends nothing that --ping-pong could wait for":      empty(streaming("127.0.0.1:1", "Echo", 0, true)),
		"--messages 0 does not send the message of --data":                withData,
		"--messages 5: test.Streams/Once accepts one message per call":    streaming("127.0.0.1:1", "Once", 5, false),
		"--messages 1: test.Streams/Repeat accepts one message per call":  streaming("127.0.0.1:1", "Repeat", 1, false),
		"--ping-pong: test.Streams/Join is not a bidirectional streaming": streaming("127.0.0.1:1", "Join", 5, true),
		"--ping-pong: test.Streams/Once is not a bidirectional streaming": streaming("127.0.0.1:1", "Once", 0, true),
	} {
		_, err := Open(t.Context(), settings)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

func TestEveryCallOpensItsOwnConnection(t *testing.T) {
	settings := validSettings()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counter := &countingListener{Listener: listener}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, &strictGreeter{names: map[string]int{}})
	go func() { _ = server.Serve(counter) }()
	defer server.Stop()
	settings.Target, settings.Proto, settings.PerCall, settings.Calls, settings.Concurrency = listener.Addr().String(), "../../api/rpclab/v1/greeter.proto", true, 20, 3
	a := run(t, settings).Arms[0]
	if n := counter.accepted.Load(); a.Calls != 20 || len(a.Errors) > 0 || a.Channel != "per-call" || n != 21 { // one more connection probes whether the server listens
		t.Errorf("%d calls, errors %v %v, channel %s, %d connections; want 20 calls and 21 connections per-call", a.Calls, a.Errors, a.Samples, a.Channel, n)
	}
	settings.Target = "127.0.0.1:1"
	if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "cannot connect to 127.0.0.1:1: ") {
		t.Errorf("without a server the error is %v, want cannot connect to 127.0.0.1:1", err)
	}
}

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (c *countingListener) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return connection, err
}

// A stream that ends early or with an error counts the same with both engines.
func TestEnginesCountTheSameErrorsOfStreams(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	receive := func(stream grpc.ServerStream) { _ = stream.RecvMsg(&rpclabv1.HelloRequest{}) }
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Echo", ClientStreams: true, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			receive(stream)
			return stream.SendMsg(&rpclabv1.HelloRequest{}) // one answer to three messages
		}},
		{StreamName: "Repeat", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			receive(stream)
			return status.Error(codes.ResourceExhausted, "enough")
		}},
		{StreamName: "Join", ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error { return nil }}, // no answer
	}}, nil)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	address := listener.Addr().String()
	for _, engine := range []string{Wire, GRPCGo} {
		for want, settings := range map[string]Settings{
			"DATA_LOSS: the stream had 1 responses, not 3": streaming(address, "Echo", 3, true),
			"RESOURCE_EXHAUSTED: enough":                   streaming(address, "Repeat", 0, false),
			"DATA_LOSS: the stream had 0 responses, not 1": streaming(address, "Join", 0, false),
		} {
			settings.Engine = engine
			arm := run(t, settings).Arms[0]
			code, message, _ := strings.Cut(want, ": ")
			if arm.Errors[code] != 20 || arm.Samples[code] != message {
				t.Errorf("%s: %s has the errors %v %v, want 20 of %s", engine, settings.Call, arm.Errors, arm.Samples, want)
			}
		}
	}
}
