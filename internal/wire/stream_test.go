package wire_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/stream"
	"rpclab/internal/wire"
)

// streams serves, with the greeter's messages: Echo responses each message, Join all of
// them with one, and Repeat each with three.
func streams(t *testing.T) (addr string) {
	t.Helper()
	each := func(times int) grpc.StreamHandler {
		return func(_ any, s grpc.ServerStream) error {
			for {
				r := &rpclabv1.HelloRequest{}
				if err := s.RecvMsg(r); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				for range times {
					if err := s.SendMsg(&rpclabv1.HelloReply{Message: r.Name}); err != nil {
						return err
					}
				}
			}
		}
	}
	join := func(_ any, s grpc.ServerStream) error {
		n := 0
		for {
			if err := s.RecvMsg(&rpclabv1.HelloRequest{}); errors.Is(err, io.EOF) {
				return s.SendMsg(&rpclabv1.HelloReply{Message: fmt.Sprint(n)})
			} else if err != nil {
				return err
			}
			n++
		}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: each(1), ServerStreams: true, ClientStreams: true},
		{StreamName: "Repeat", Handler: each(3), ServerStreams: true, ClientStreams: true},
		{StreamName: "Join", Handler: join, ClientStreams: true},
	}}, nil)
	return sessionStream(t, server)
}

func TestStreamsCarryEveryMessage(t *testing.T) {
	addr := streams(t)
	message, err := proto.Marshal(&rpclabv1.HelloRequest{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		method string
		stream stream.Stream
		says   string
		code   string
	}{
		"from the server":            {"Repeat", stream.Stream{Messages: 1, Responses: 3}, "m", ""},
		"from the client":            {"Join", stream.Stream{Messages: 200, Responses: 1}, "200", ""},
		"bidirectional, ping-pong":   {"Echo", stream.Stream{Messages: 50, Responses: 50, PingPong: true}, "m", ""},
		"bidirectional, pipelined":   {"Echo", stream.Stream{Messages: 50, Responses: 50}, "m", ""},
		"several responses each":     {"Repeat", stream.Stream{Messages: 5, Responses: 5, PingPong: true}, "m", ""},
		"any number of responses":    {"Repeat", stream.Stream{Messages: 2}, "m", ""},
		"too few responses":          {"Echo", stream.Stream{Messages: 2, Responses: 3}, "m", "DATA_LOSS"},
		"wrong responses":            {"Echo", stream.Stream{Messages: 2, Responses: 2}, "other", "DATA_LOSS"},
		"a method that is not there": {"None", stream.Stream{Messages: 2, PingPong: true}, "m", "UNIMPLEMENTED"},
	} {
		t.Run(what, func(t *testing.T) {
			e := engine(t, wire.Config{Addresses: []string{addr}, Channels: 2, Timeout: 10 * time.Second}, wire.Call{
				Method: "/test.Streams/" + c.method, Message: message, Stream: &c.stream,
				Check: func(_ uint64, response []byte, _ string) error {
					reply := &rpclabv1.HelloReply{}
					if err := proto.Unmarshal(response, reply); err != nil || reply.Message != c.says {
						return fmt.Errorf("answered %q, %v", reply.Message, err)
					}
					return nil
				},
			})
			const calls = 40
			recorder, _, err := e.Run(t.Context(), pace.Closed{Users: 7, Calls: calls}, measure.StartSignal{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := recorder.Measurement()
			if err != nil {
				t.Fatal(err)
			}
			if c.code != "" {
				if m.Errors[c.code] != calls {
					t.Errorf("errors %v %v", m.Errors, m.Samples)
				}
				return
			}
			if m.Backends[""] != calls {
				t.Fatalf("errors %v %v", m.Errors, m.Samples)
			}
			responses, err := hdr.Decode([]byte(m.Answers))
			if err != nil {
				t.Fatal(err)
			}
			if c.method == "Repeat" && c.stream.PingPong {
				c.stream.Responses *= 3
			}
			if want := int64(calls * c.stream.Responses); want > 0 && responses.TotalCount() != want {
				t.Errorf("%d responses, want %d", responses.TotalCount(), want)
			}
			if float64(responses.Max()) > 1.001*float64(m.Elapsed) { // to three digits
				t.Errorf("a response took %d ns of a load of %v", responses.Max(), m.Elapsed)
			}
		})
	}
}

func TestInvalidStreamsAreRejected(t *testing.T) {
	for _, call := range []wire.Call{
		{Method: "/a.B/C", Stream: &stream.Stream{Messages: -1}},
		{HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 2}, Stream: &stream.Stream{Messages: 1}},
	} {
		if _, err := wire.New(wire.Config{}, call); err == nil {
			t.Errorf("%+v was taken", call)
		}
	}
}
