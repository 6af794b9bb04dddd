package workload

import (
	"errors"
	"io"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Greetings answers the messages of a stream in turn until the client sends no more.
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
