package workload_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"rpclab/api/studies/balancing"
	"rpclab/api/studies/chain"
	"rpclab/api/studies/chainrust"
	"rpclab/api/studies/chainstream"
	"rpclab/api/studies/ladder"
	"rpclab/api/studies/streams"
	"rpclab/internal/workload"
)

func TestTheServicesOfTheStudiesAnswerByTheirOwnNames(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b7", Published: true})
	ctx := t.Context()
	number, err := balancing.NewFibonacciServiceClient(channel).Fibonacci(ctx, &balancing.FibonacciRequest{N: 90})
	if err != nil || number.Value != "2880067194370816120" || number.ServerName != "b7" {
		t.Errorf("Fibonacci: %v, %v", number, err)
	}
	for want := range uint32(2) {
		count, err := balancing.NewFibonacciServiceClient(channel).Increment(ctx, &balancing.IncrementRequest{Name: "me"})
		if err != nil || count.Number != want+1 || count.ServerName != "b7" {
			t.Errorf("Increment: %v, %v", count, err)
		}
	}
	if reply, err := chain.NewSimplePythonPythonClient(channel).Increase(ctx, &chain.IncreaseRequest{Num: 41}); err != nil || reply.Num != 42 {
		t.Errorf("increase, Python to Python: %v, %v", reply, err)
	}
	if reply, err := chainrust.NewPythonToRustSimpleServiceClient(channel).Increase(ctx, &chainrust.IncreaseRequest{Num: 41}); err != nil || reply.Num != 42 {
		t.Errorf("increase, Python to Rust: %v, %v", reply, err)
	}
	stream, err := chainstream.NewTwoWayStreamPythonToPythonClient(channel).Increase(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(3) {
		if err := stream.Send(&chainstream.IncreaseRequest{Num: i}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(3) {
		if reply, err := stream.Recv(); err != nil || reply.Num != i+1 {
			t.Fatalf("increase over a stream: %v, %v; want %d", reply, err, i+1)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("the stream ends with %v, want io.EOF", err)
	}
	order := &ladder.OrderRequest{CustomerId: "AAABBB", Articles: []*ladder.OrderedArticle{{Id: "1", Quantity: 1, UnitPrice: 10.5}}}
	if reply, err := ladder.NewOrderServiceClient(channel).PlaceOrder(ctx, order); err != nil || uuid.Validate(reply.Id) != nil {
		t.Errorf("PlaceOrder: %v, %v", reply, err)
	}
	if names := listServices(t, channel); !strings.Contains(names, " calculator.CalculatorService ") || !strings.Contains(names, " OrderService ") {
		t.Errorf("reflection lists %s", names)
	}
}

func listServices(t *testing.T, channel *grpc.ClientConn) string {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(channel).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	names := " "
	for _, service := range reply.GetListServicesResponse().GetService() {
		names += service.Name + " "
	}
	return names
}

func TestAServerHasTheStudiesNamesOnlyOnRequest(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	if _, err := chain.NewSimplePythonPythonClient(channel).Increase(t.Context(), &chain.IncreaseRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a service of a study answers %v, want UNIMPLEMENTED", err)
	}
}

// studyMessage is a message of the published streams study, without a signature.
func studyMessage(id int, operation string) *streams.CalcMessage {
	text, _ := json.Marshal(map[string]any{"id": id, "x": 3, "y": 1, "operation": operation, "result": 0, "isPrime": false})
	return &streams.CalcMessage{Payload: text}
}

// TestTheStudysCalculatorClientNeedsNotWaitForItsResponseStream sends the messages of two runs of the
// published client, which numbers each run from 0.
func TestTheStudysCalculatorClientNeedsNotWaitForItsResponseStream(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b", Published: true})
	client := streams.NewCalculatorServiceClient(channel)
	for range 2 {
		ctx, cancel := context.WithCancel(as(t.Context(), "myClient"))
		responses, err := client.PerformCalculationFrom(ctx, &emptypb.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		for id, test := range []struct{ operation, want string }{
			{"isprime", `{"id":0,"x":3,"y":1,"operation":"isprime","result":0,"isPrime":true}`},
			{"ADD", `{"id":1,"x":3,"y":1,"operation":"ADD","result":4,"isPrime":false}`},
			{"SUBTRACT", `{"id":2,"x":3,"y":1,"operation":"SUBTRACT","result":2,"isPrime":false}`},
		} {
			if _, err := client.PerformCalculationTo(ctx, studyMessage(id, test.operation)); err != nil {
				t.Fatal(err)
			}
			if reply, err := responses.Recv(); err != nil || string(reply.Payload) != test.want {
				t.Errorf("the response is %s, %v; want %s", reply.GetPayload(), err, test.want)
			}
		}
		cancel()
		for err == nil {
			_, err = responses.Recv()
		}
	}
	both, err := client.PerformCalculationBi(as(t.Context(), "myClient"))
	if err != nil {
		t.Fatal(err)
	}
	if err := both.Send(studyMessage(0, "isprime")); err != nil {
		t.Fatal(err)
	}
	if reply, err := both.Recv(); err != nil || !strings.Contains(string(reply.Payload), `"isPrime":true`) {
		t.Errorf("the response on the stream is %s, %v", reply.GetPayload(), err)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); err != io.EOF {
		t.Errorf("the stream ends with %v, want io.EOF", err)
	}
}

func TestRESTHasThePathsOfTheStudies(t *testing.T) {
	server := &workload.Server{ID: "b", Published: true}
	at, _ := serveREST(t, server)
	client := httpClient(t, false)
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/increase/41", "", `{"number":42}`},
		{http.MethodPost, "/orders", `{"customerId": "AAABBB", "createdAt": "2025-04-28T22:47:00+02:00", "paymentMethod": "CREDIT_CARD", "articles": [{"id": "0", "quantity": 1, "unitPrice": 10.5}]}`, `{"value":"`},
		{http.MethodPost, "/orders", `{"articles": [{"id": "0", "quantity": 1, "unit_price": 10.5}]}`, `"id":"`},
	} {
		if status, _, answer := ask(t, client, c.method, at+c.path, c.body); status != http.StatusOK || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s answers %d %s, want %s", c.method, c.path, status, answer, c.want)
		}
	}
	if status, _, answer := ask(t, client, http.MethodGet, at+"/increase/x", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("GET /increase/x answers %d %s, want 422", status, answer)
	}
	server.SetFault(workload.Fault{Code: codes.Unavailable})
	if status, _, answer := ask(t, client, http.MethodGet, at+"/increase/41", ""); status != http.StatusServiceUnavailable {
		t.Errorf("in an error loop, GET /increase/41 answers %d %s, want 503", status, answer)
	}
}
