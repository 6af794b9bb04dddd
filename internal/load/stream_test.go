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

	rpclabv1 "rpclab/api/rpclab/v1"
)

// streams serves testdata/streams.proto with the greeter's request, which has its form.
func streams(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// each answers every message some times, and at the end of them once more with last.
	each := func(times int, last bool) grpc.StreamHandler {
		return func(_ any, s grpc.ServerStream) error {
			for n := 0; ; n++ {
				note := &rpclabv1.HelloRequest{}
				err := s.RecvMsg(note)
				if errors.Is(err, io.EOF) && last {
					return s.SendMsg(&rpclabv1.HelloRequest{Name: fmt.Sprint(n)})
				} else if errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				for range times {
					if err := s.SendMsg(note); err != nil {
						return err
					}
				}
			}
		}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: each(1, false), ServerStreams: true, ClientStreams: true},
		{StreamName: "Repeat", Handler: each(3, false), ServerStreams: true},
		{StreamName: "Join", Handler: each(0, true), ClientStreams: true},
	}}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// streaming are settings that call a method of it.
func streaming(address, method string, messages int, pingPong bool) Settings {
	s := settings()
	s.Target, s.Call, s.Proto = address, "test.Streams/"+method, "testdata/streams.proto"
	s.Data, s.Messages, s.PingPong, s.Calls, s.Concurrency = `{"name": "n"}`, messages, pingPong, 20, 3
	return s
}

func TestACallOfAStreamingMethodIsAStream(t *testing.T) {
	address := streams(t)
	for what, c := range map[string]struct {
		settings Settings
		answers  int64 // of a call
		says     string
	}{
		"from the server":        {streaming(address, "Repeat", 0, false), 3, "each call a stream of responses"},
		"from the client":        {streaming(address, "Join", 50, false), 1, "each call a stream of 50 requests"},
		"both ways":              {streaming(address, "Echo", 7, false), 7, "each call a stream of 7 requests and a stream of responses"},
		"both ways, in turn":     {streaming(address, "Echo", 9, true), 9, "each call a stream of 9 requests, each sent after"},
		"one message by default": {streaming(address, "Echo", 0, true), 1, "each call a stream of 1 request"},
	} {
		d := run(t, c.settings)
		a := d.Arms[0]
		if a.Calls != 20 || len(a.Errors) > 0 || a.Messages == nil || a.Trials[0].Messages == nil || !strings.Contains(d.Question, c.says) {
			t.Errorf("%s: %s: %d calls, errors %v %v, messages %v", what, d.Question, a.Calls, a.Errors, a.Samples, a.Messages)
			continue
		}
		times, err := a.Messages.Decode()
		if err != nil || times.TotalCount() != 20*c.answers || a.Messages.P50 > a.Service.Max {
			t.Errorf("%s: %d answers of %g ms, in streams of at most %g ms, %v", what, times.TotalCount(), a.Messages.P50, a.Service.Max, err)
		}
	}
}

// TestAnAnswerIsTimedFromTheMessageThatItAnswers: in turn, one takes a part of the
// stream's time; all at once, the last takes all of it.
func TestAnAnswerIsTimedFromTheMessageThatItAnswers(t *testing.T) {
	address := streams(t)
	const messages = 200
	inTurn, atOnce := streaming(address, "Echo", messages, true), streaming(address, "Echo", messages, false)
	inTurn.Concurrency, atOnce.Concurrency = 1, 1
	if a := run(t, inTurn).Arms[0]; a.Messages.Mean*messages > 1.01*a.Service.Mean {
		t.Errorf("%d answers of %g ms each in a stream of %g ms", messages, a.Messages.Mean, a.Service.Mean)
	}
	if a := run(t, atOnce).Arms[0]; a.Messages.Max < 0.5*a.Service.Min {
		t.Errorf("the last answer took %g ms of %g ms", a.Messages.Max, a.Service.Min)
	}
}

func TestUnsupportedStreamsAreRejected(t *testing.T) {
	for want, s := range map[string]Settings{
		"--messages 5: test.Streams/Once takes one message per call":      streaming("127.0.0.1:1", "Once", 5, false),
		"--messages 1: test.Streams/Repeat takes one message per call":    streaming("127.0.0.1:1", "Repeat", 1, false),
		"--ping-pong: test.Streams/Join is not a bidirectional streaming": streaming("127.0.0.1:1", "Join", 5, true),
		"--ping-pong: test.Streams/Once is not a bidirectional streaming": streaming("127.0.0.1:1", "Once", 0, true),
		"test.Streams/Echo is a streaming method, which needs":            throughGRPCGo(streaming("127.0.0.1:1", "Echo", 5, false)),
	} {
		_, err := Open(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("%q was wanted: %v", want, err)
		}
	}
}

func throughGRPCGo(s Settings) Settings {
	s.Engine = GRPCGo
	return s
}

func TestAConnectionPerCall(t *testing.T) {
	s := settings()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counter := &counting{Listener: listener}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, &strictGreeter{names: map[string]int{}})
	go func() { _ = server.Serve(counter) }()
	defer server.Stop()
	s.Target, s.Proto, s.PerCall, s.Calls, s.Concurrency = listener.Addr().String(), "../../api/rpclab/v1/greeter.proto", true, 20, 3
	a := run(t, s).Arms[0]
	if n := counter.accepted.Load(); a.Calls != 20 || len(a.Errors) > 0 || a.Channel != "per-call" || n != 21 { // one looks whether anybody is there
		t.Errorf("%d calls, errors %v %v, %s; %d connections", a.Calls, a.Errors, a.Samples, a.Channel, n)
	}
	s.Target = "127.0.0.1:1"
	if _, err := Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), "cannot connect to 127.0.0.1:1: ") {
		t.Error(err)
	}
}

// counting counts the connections that it accepts.
type counting struct {
	net.Listener
	accepted atomic.Int64
}

func (c *counting) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return connection, err
}
