package conformance

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/language"
	"rpclab/internal/workload"
)

// TestServersAnswerMessagesOfAStreamInOrder sends all messages at once. The server must process them one by one, or
// report that it has no streams.
func TestServersAnswerMessagesOfAStreamInOrder(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		if m.REST {
			return
		}
		addr := free(t)
		start(t, addr, append(command, "--listen", addr, "--id", "b", "--delay", "30ms")...)
		channel := contactTo(t, m, addr).(overGRPC).channel
		greetings, err := rpclabv1.NewGreeterClient(channel).Greetings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for n := range 3 {
			if err := greetings.Send(&rpclabv1.HelloRequest{Name: fmt.Sprint(n)}); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		for n := range 3 {
			reply, err := greetings.Recv()
			if status.Code(err) == codes.Unimplemented {
				return
			}
			if reply.GetMessage() != fmt.Sprint("Hello, ", n) || reply.GetBackend() != "b" || err != nil {
				t.Errorf("the answer to message %d is %v, error %v", n, reply, err)
			}
		}
		if took := time.Since(began); took < 90*time.Millisecond {
			t.Errorf("3 messages of 30 ms each were answered in %v, want at least 90 ms", took)
		}
		if err := greetings.CloseSend(); err != nil {
			t.Fatal(err)
		}
		_, err = greetings.Recv()
		if ids := strings.Join(greetings.Trailer()[workload.BackendTrailer], " "); !errors.Is(err, io.EOF) || ids != "b" {
			t.Errorf("a stream that the client closed ended with %v of %q", err, ids)
		}

		increases, err := rpclabv1.NewChainClient(channel).Increases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint32{1, math.MaxUint32 - 1, math.MaxUint32} {
			if err := increases.Send(&rpclabv1.Number{Value: n}); err != nil {
				t.Fatal(err)
			}
			after, err := increases.Recv()
			if n == math.MaxUint32 {
				if ids := strings.Join(increases.Trailer()[workload.BackendTrailer], " "); status.Code(err) != codes.OutOfRange || ids != "b" {
					t.Errorf("after the last number the stream ended with %v of %q", err, ids)
				}
			} else if after.GetValue() != n+1 || err != nil {
				t.Errorf("the answer to %d is %v, error %v", n, after, err)
			}
		}
	})
}
