package workload_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

func TestCalculations(t *testing.T) {
	for _, test := range []struct {
		x, y      int64
		operation string
		result    int64
		prime     bool
	}{
		{20, 22, workload.Add, 42, false}, {20, 22, workload.Subtract, -2, false}, {-1, math.MaxInt64, workload.Add, math.MaxInt64 - 1, false},
		{0, math.MaxInt64, workload.Subtract, -math.MaxInt64, false}, {5, 0, workload.Add, 5, false},
		{-7, 0, workload.IsPrime, 0, false}, {1, 0, workload.IsPrime, 0, false}, {2, 0, workload.IsPrime, 1, true}, {3, 0, workload.IsPrime, 1, true},
		{4, 0, workload.IsPrime, 0, false}, {9, 0, workload.IsPrime, 0, false}, {1_000_000_000_039, 0, workload.IsPrime, 1, true},
	} {
		got, err := workload.Calculation{X: test.x, Y: test.y, Operation: test.operation}.Answer()
		if err != nil || got.Result != test.result || got.IsPrime != test.prime {
			t.Errorf("%d %s %d is %+v, %v; want result %d, prime %t", test.x, test.operation, test.y, got, err, test.result, test.prime)
		}
	}
	for _, invalid := range []workload.Calculation{
		{X: math.MaxInt64, Y: 1, Operation: workload.Add}, {X: math.MinInt64, Y: 1, Operation: workload.Subtract}, {Operation: "divide"},
	} {
		if _, err := invalid.Answer(); err == nil {
			t.Errorf("%+v has an answer, want an error", invalid)
		}
	}
}

func TestMessageIDsNameTheirClientAndNumber(t *testing.T) {
	client, n, err := workload.ParseMessageID(workload.MessageID("a/b", 7))
	if client != "a/b" || n != 7 || err != nil {
		t.Errorf("the id a/b/7 is of client %q, number %d, %v; want a/b and 7", client, n, err)
	}
	for _, id := range []string{"", "a", "/1", "a/", "a/-1", "a/18446744073709551615"} {
		if _, _, err := workload.ParseMessageID(id); err == nil {
			t.Errorf("%q is parsed as an id, want an error", id)
		}
	}
}

func as(ctx context.Context, client string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, security.ClientKey, client)
}

func question(n int) *rpclabv1.Calculation {
	return &rpclabv1.Calculation{Signed: fmt.Appendf(nil, `{"id": "me/%d", "x": %d, "y": 1, "operation": "add"}`, n, n)}
}

// number checks a response and returns its message number.
func number(t *testing.T, answer *rpclabv1.Calculation, err error) int {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got workload.Calculation
	if err := json.Unmarshal(answer.Signed, &got); err != nil {
		t.Fatal(err)
	}
	_, n, err := workload.ParseMessageID(got.ID)
	if err != nil || got.Result != int64(n)+1 {
		t.Fatalf("the answer is %+v, %v; want the result %d", got, err, n+1)
	}
	return int(n)
}

func TestAClientWithoutAResponseStreamIsRejected(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	service := rpclabv1.NewCalculatorServiceClient(channel)
	if _, err := service.PerformCalculationTo(as(t.Context(), "me"), question(0)); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a call of a client without a response stream returns %v, want FAILED_PRECONDITION", err)
	}
	if _, err := service.PerformCalculationTo(t.Context(), question(0)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a call without a client name returns %v, want INVALID_ARGUMENT", err)
	}
}

// listen opens a response stream and returns when the server has registered the stream.
func listen(t *testing.T, ctx context.Context, channel *grpc.ClientConn) grpc.ServerStreamingClient[rpclabv1.Calculation] {
	t.Helper()
	stream, err := rpclabv1.NewCalculatorServiceClient(channel).PerformCalculationFrom(as(ctx, "me"), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		t.Fatal(err)
	}
	return stream
}

// fill makes calls until a call blocks, and returns how many calls the server accepted.
func fill(t *testing.T, channel *grpc.ClientConn) (accepted int) {
	t.Helper()
	for service := rpclabv1.NewCalculatorServiceClient(channel); accepted < 1_000_000; accepted++ {
		ctx, cancel := context.WithTimeout(as(t.Context(), "me"), 5*time.Second) // longer than a pause of the machine
		_, err := service.PerformCalculationTo(ctx, question(accepted))
		cancel()
		if status.Code(err) == codes.DeadlineExceeded {
			return accepted
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the server accepts a million calls whose responses nobody reads, want a call to block")
	return 0
}

func TestCallsBlockWhileTheClientDoesNotReadAndNoResponseIsLost(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	stream := listen(t, t.Context(), channel)
	accepted := fill(t, channel)
	for n := range accepted {
		answer, err := stream.Recv()
		if got := number(t, answer, err); got != n {
			t.Fatalf("the next response has number %d, want %d", got, n)
		}
	}
}

func TestQueuedResponsesAreSentInOrderOnTheNextStream(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	ctx, end := context.WithCancel(t.Context())
	broken := listen(t, ctx, channel)
	accepted := fill(t, channel)
	end()
	for err := error(nil); err == nil; { // until the server has ended the stream
		_, err = broken.Recv()
	}
	stream := listen(t, t.Context(), channel)
	answer, err := stream.Recv()
	first := number(t, answer, err)
	for n := first + 1; n < accepted; n++ {
		answer, err := stream.Recv()
		if got := number(t, answer, err); got != n {
			t.Fatalf("the next response has number %d, want %d", got, n)
		}
	}
	if accepted-first < 64 {
		t.Errorf("the next stream receives %d of %d responses, want at least the 64 that were queued", accepted-first, accepted)
	}
}

func TestABidirectionalStreamAnswersInOrder(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	stream, err := rpclabv1.NewCalculatorServiceClient(channel).PerformCalculationBi(as(t.Context(), "me"))
	if err != nil {
		t.Fatal(err)
	}
	const messages = 10_000
	sent := make(chan error, 1)
	go func() {
		for n := range messages {
			if err := stream.Send(question(n)); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for n := range messages {
		answer, err := stream.Recv()
		if got := number(t, answer, err); got != n {
			t.Fatalf("the next response has number %d, want %d", got, n)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestConcurrentClientsReceiveTheirOwnResponses(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	service := rpclabv1.NewCalculatorServiceClient(channel)
	const clients = 50
	failed := make(chan error, clients)
	for client := range clients {
		go func() {
			name := fmt.Sprint("client-", client)
			stream, err := service.PerformCalculationFrom(as(t.Context(), name), &emptypb.Empty{})
			if err == nil {
				_, err = stream.Header()
			}
			for n := 0; n < 20 && err == nil; n++ {
				text := fmt.Appendf(nil, `{"id": "%s/%d", "x": %d, "y": %d, "operation": "add"}`, name, n, client, n)
				if _, err = service.PerformCalculationTo(as(t.Context(), name), &rpclabv1.Calculation{Signed: text}); err != nil {
					break
				}
				var answer *rpclabv1.Calculation
				if answer, err = stream.Recv(); err != nil {
					break
				}
				want := fmt.Sprintf(`{"id":"%s/%d","x":%d,"y":%d,"operation":"add","result":%d,"isPrime":false}`, name, n, client, n, client+n)
				if string(answer.Signed) != want {
					err = fmt.Errorf("%s receives %s, want %s", name, answer.Signed, want)
				}
			}
			failed <- err
		}()
	}
	for range clients {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
