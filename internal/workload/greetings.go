package workload

import (
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Greetings answers the messages of a stream in turn until the client sends no more. The
// identity is in the header: a stream's trailer comes too late for its messages.
func (g greeter) Greetings(stream grpc.BidiStreamingServer[rpclabv1.HelloRequest, rpclabv1.HelloReply]) error {
	if err := stream.SetHeader(metadata.Pairs(Trailer, g.id)); err != nil {
		return err
	}
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
