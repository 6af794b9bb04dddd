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
	for _, c := range []struct {
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
		got, err := workload.Calculation{X: c.x, Y: c.y, Operation: c.operation}.Answer()
		if err != nil || got.Result != c.result || got.IsPrime != c.prime {
			t.Errorf("%+v is %+v, %v", c, got, err)
		}
	}
	for _, c := range []workload.Calculation{
		{X: math.MaxInt64, Y: 1, Operation: workload.Add}, {X: math.MinInt64, Y: 1, Operation: workload.Subtract}, {Operation: "divide"},
	} {
		if _, err := c.Answer(); err == nil {
			t.Errorf("%+v has an answer", c)
		}
	}
}

func TestMessageIDsNameTheirClientAndNumber(t *testing.T) {
	client, n, err := workload.ParseMessageID(workload.MessageID("a/b", 7))
	if client != "a/b" || n != 7 || err != nil {
		t.Errorf("%q, %d, %v", client, n, err)
	}
	for _, id := range []string{"", "a", "/1", "a/", "a/-1", "a/18446744073709551615"} {
		if _, _, err := workload.ParseMessageID(id); err == nil {
			t.Errorf("%q is an id", id)
		}
	}
}

func as(ctx context.Context, client string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, security.ClientKey, client)
}

func question(n int) *rpclabv1.Calculation {
	return &rpclabv1.Calculation{Signed: fmt.Appendf(nil, `{"id": "me/%d", "x": %d, "y": 1, "operation": "add"}`, n, n)}
}

// number is the number of an answer, which is right.
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
		t.Fatalf("the answer is %+v, %v", got, err)
	}
	return int(n)
}

func TestAClientWithoutAResponseStreamIsRejected(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	service := rpclabv1.NewCalculatorServiceClient(channel)
	if _, err := service.PerformCalculationTo(as(t.Context(), "me"), question(0)); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("it is answered with %v", err)
	}
	if _, err := service.PerformCalculationTo(t.Context(), question(0)); status.Code(err) != codes.InvalidArgument {
		t.Errorf("nobody's call is answered with %v", err)
	}
}

// listen opens a stream of answers that the server knows of.
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

// fill makes calls until one blocks, and returns how many were accepted.
func fill(t *testing.T, channel *grpc.ClientConn) (accepted int) {
	t.Helper()
	for service := rpclabv1.NewCalculatorServiceClient(channel); accepted < 1_000_000; accepted++ {
		ctx, cancel := context.WithTimeout(as(t.Context(), "me"), 5*time.Second) // which a stall of the machine is not
		_, err := service.PerformCalculationTo(ctx, question(accepted))
		cancel()
		if status.Code(err) == codes.DeadlineExceeded {
			return accepted
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it takes a million calls that nobody reads the answers of")
	return 0
}

func TestAReaderThatDoesNotReadStopsItsCallsAndLosesNoAnswer(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	stream := listen(t, t.Context(), channel)
	accepted := fill(t, channel)
	for n := range accepted {
		answer, err := stream.Recv()
		if got := number(t, answer, err); got != n {
			t.Fatalf("answer %d comes where %d is next", got, n)
		}
	}
}

// What is in line when a stream breaks comes over the next one, in its order.
func TestQueuedResponsesOutliveTheirStream(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	ctx, end := context.WithCancel(t.Context())
	broken := listen(t, ctx, channel)
	accepted := fill(t, channel)
	end()
	for err := error(nil); err == nil; { // until the server is told
		_, err = broken.Recv()
	}
	stream := listen(t, t.Context(), channel)
	answer, err := stream.Recv()
	first := number(t, answer, err)
	for n := first + 1; n < accepted; n++ {
		answer, err := stream.Recv()
		if got := number(t, answer, err); got != n {
			t.Fatalf("answer %d comes where %d is next", got, n)
		}
	}
	if accepted-first < 64 {
		t.Errorf("%d of %d answers are left; 64 were queued", accepted-first, accepted)
	}
}

// A server that does not get rid of its answers does not read on.
func TestABidirectionalStreamKeepsItsOrder(t *testing.T) {
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
			t.Fatalf("answer %d comes where %d is next", got, n)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestManyClientsGetTheirOwnAnswers(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	service := rpclabv1.NewCalculatorServiceClient(channel)
	const clients = 50
	failed := make(chan error, clients)
	for c := range clients {
		go func() {
			name := fmt.Sprint("client-", c)
			stream, err := service.PerformCalculationFrom(as(t.Context(), name), &emptypb.Empty{})
			if err == nil {
				_, err = stream.Header()
			}
			for n := 0; n < 20 && err == nil; n++ {
				text := fmt.Appendf(nil, `{"id": "%s/%d", "x": %d, "y": %d, "operation": "add"}`, name, n, c, n)
				if _, err = service.PerformCalculationTo(as(t.Context(), name), &rpclabv1.Calculation{Signed: text}); err != nil {
					break
				}
				var answer *rpclabv1.Calculation
				if answer, err = stream.Recv(); err != nil {
					break
				}
				want := fmt.Sprintf(`{"id":"%s/%d","x":%d,"y":%d,"operation":"add","result":%d,"isPrime":false}`, name, n, c, n, c+n)
				if string(answer.Signed) != want {
					err = fmt.Errorf("%s gets %s, want %s", name, answer.Signed, want)
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
