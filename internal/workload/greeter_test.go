package workload_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

func TestMessagesOfAStreamAreAnsweredInTurn(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b3", Delay: 20 * time.Millisecond})
	stream, err := rpclabv1.NewGreeterClient(channel).Greetings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for n := range 3 { // sends all messages at once
		if err := stream.Send(&rpclabv1.HelloRequest{Name: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		reply, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if reply.Message != fmt.Sprintf("Hello, %d", n) || reply.Backend != "b3" {
			t.Errorf("message %d is answered with %v", n, reply)
		}
	}
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("3 messages with a delay of 20ms each were answered in %v, want at least 60ms", took)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("a stream that the client closed ends with %v, want %v", err, io.EOF)
	}
}
