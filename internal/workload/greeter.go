package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Greet is Greeter/SayHello, answered after a delay.
type Greet struct {
	Delay time.Duration `json:"delay"`
}

func (g Greet) args() []string {
	return []string{"--delay", DurationArg(g.Delay)}
}

func (Greet) unary() (Unary, error) {
	request := &rpclabv1.HelloRequest{Name: "rpclab"}
	want := greeting(request.Name)
	return Unary{
		Method:        rpclabv1.Greeter_SayHello_FullMethodName,
		Stream:        rpclabv1.Greeter_Greetings_FullMethodName,
		Path:          "/greet",
		SameRequest:   true,
		ConstantReply: true,
		Request:       func(uint64) proto.Message { return request },
		Reply:         func() proto.Message { return new(rpclabv1.HelloReply) },
		Check: func(_ uint64, m proto.Message, backend string) error {
			reply := m.(*rpclabv1.HelloReply)
			if reply.Message != want || reply.Backend != backend || backend == "" {
				return fmt.Errorf("wrong response %q by %q, trailer %q", reply.Message, reply.Backend, backend)
			}
			return nil
		},
	}, nil
}

// greeter is the server of the workload greet.
type greeter struct {
	rpclabv1.UnimplementedGreeterServer
	id    string
	delay time.Duration
}

func (g greeter) SayHello(ctx context.Context, request *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if err := sleep(ctx, g.delay); err != nil {
		return nil, err
	}
	return &rpclabv1.HelloReply{Message: greeting(request.Name), Backend: g.id}, nil
}

func greeting(name string) string { return "Hello, " + name }

// Greetings answers the messages of a stream in turn until the client closes its side.
func (g greeter) Greetings(stream grpc.BidiStreamingServer[rpclabv1.HelloRequest, rpclabv1.HelloReply]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := g.SayHello(stream.Context(), request)
		if err != nil {
			return err
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}
