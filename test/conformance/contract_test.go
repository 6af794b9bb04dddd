package conformance

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/workload"
)

// These tests check every server against servers/CONTRACT.md.

// greeted makes one call and returns its error.
func greeted(ctx context.Context, t *testing.T, c contact) error {
	var reply rpclabv1.HelloReply
	id, err := c.call(ctx, rpclabv1.Greeter_SayHello_FullMethodName, "/greet", &rpclabv1.HelloRequest{Name: "you"}, &reply)
	if err == nil && (reply.Message != "Hello, you" || reply.Backend != "b" || id != "b") {
		t.Errorf("SayHello returned %v, identity %q", &reply, id)
	}
	return err
}

func answersEveryWorkload(t *testing.T, m language.Model, addr string) {
	t.Helper()
	c := contactTo(t, m, addr)
	if err := greeted(t.Context(), t, c); err != nil {
		t.Error(err)
	}
	for _, n := range []uint32{0, 1, 127, 1 << 31, math.MaxUint32 - 1} {
		if after, id, err := increase(t.Context(), c, n); after != n+1 || id != "b" || err != nil {
			t.Errorf("increase(%d) = %d of %q, error %v", n, after, id, err)
		}
	}
	for n, want := range map[uint32]string{0: "0", 1: "1", 2: "1", 100: "354224848179261915075"} {
		var reply rpclabv1.FibonacciReply
		id, err := c.call(t.Context(), rpclabv1.Fibonacci_Compute_FullMethodName, "/fibonacci", &rpclabv1.FibonacciRequest{N: n}, &reply)
		if reply.Value != want || reply.ServerName != "b" || id != "b" || err != nil {
			t.Errorf("Fibonacci number %d is %v of %q, error %v", n, &reply, id, err)
		}
	}
	seen := map[string]bool{}
	for _, articles := range []int{0, 1, 1000} {
		order := &rpclabv1.Order{}
		for range articles {
			order.Articles = append(order.Articles, &rpclabv1.Article{Id: "article", Quantity: 3, UnitPrice: 9.99})
		}
		var reply rpclabv1.OrderReply
		id, err := c.call(t.Context(), rpclabv1.OrderService_PlaceOrder_FullMethodName, "/orders", order, &reply)
		if is, wrong := uuid.Parse(reply.Id); wrong != nil || is.Version() != 4 || seen[reply.Id] || id != "b" || err != nil {
			t.Errorf("an order of %d articles returned %v of %q, error %v", articles, &reply, id, err)
		}
		seen[reply.Id] = true
	}
	if m.REST {
		return
	}
	for want := uint64(1); want <= 3; want++ {
		var reply rpclabv1.IncrementReply
		id, err := c.call(t.Context(), rpclabv1.Counter_Increment_FullMethodName, "", &rpclabv1.IncrementRequest{Name: "you"}, &reply)
		if reply.Number != want || reply.ServerName != "b" || id != "b" || err != nil {
			t.Errorf("increment %d returned %v of %q, error %v", want, &reply, id, err)
		}
	}
}

// answersStreams sends messages one by one and many at once. A server without streams may return
// UNIMPLEMENTED.
func answersStreams(t *testing.T, m language.Model, addr string) {
	t.Helper()
	stream, err := rpclabv1.NewChainClient(contactTo(t, m, addr).(overGRPC).channel).Increases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, atOnce := range []uint32{1, 1, 100} {
		for n := range atOnce {
			if err := stream.Send(&rpclabv1.Number{Value: n}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range atOnce {
			switch answer, err := stream.Recv(); {
			case status.Code(err) == codes.Unimplemented:
				return
			case err != nil || answer.Value != n+1:
				t.Fatalf("the answer to %d is %v, error %v", n, answer, err)
			}
		}
	}
	if err := stream.Send(&rpclabv1.Number{Value: math.MaxUint32}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.OutOfRange {
		t.Errorf("after the last number the error is %v", err)
	}
	header, err := stream.Header()
	if trailer := stream.Trailer(); err != nil || strings.Join(header[workload.BackendTrailer], " ") != "b" || strings.Join(trailer[workload.BackendTrailer], " ") != "b" {
		t.Errorf("the stream's header is %v (%v), its trailer %v", header, err, trailer)
	}
}

func rejectsInvalidCalls(t *testing.T, m language.Model, addr string) {
	t.Helper()
	c := contactTo(t, m, addr)
	outOfRange := codes.OutOfRange
	if m.REST {
		outOfRange = codes.InvalidArgument
	}
	bad := &rpclabv1.Order{Articles: []*rpclabv1.Article{{Id: "a", Quantity: 1}, {Id: "b", Quantity: 0}}}
	many := &rpclabv1.Order{}
	for range 100_001 {
		many.Articles = append(many.Articles, &rpclabv1.Article{Quantity: 1})
	}
	for _, wrong := range []struct {
		method, path   string
		request, reply proto.Message
		code           codes.Code
	}{
		{rpclabv1.Chain_Increase_FullMethodName, "/increase", &rpclabv1.Number{Value: math.MaxUint32}, &rpclabv1.Number{}, outOfRange},
		{rpclabv1.Fibonacci_Compute_FullMethodName, "/fibonacci", &rpclabv1.FibonacciRequest{N: 100_001}, &rpclabv1.FibonacciReply{}, codes.InvalidArgument},
		{rpclabv1.OrderService_PlaceOrder_FullMethodName, "/orders", bad, &rpclabv1.OrderReply{}, codes.InvalidArgument},
		{rpclabv1.OrderService_PlaceOrder_FullMethodName, "/orders", many, &rpclabv1.OrderReply{}, codes.InvalidArgument},
	} {
		id, err := c.call(t.Context(), wrong.method, wrong.path, wrong.request, wrong.reply)
		if status.Code(err) != wrong.code || id != "b" || status.Convert(err).Message() == "" {
			t.Errorf("%s: identity %q, error %v; want %v and a reason", wrong.method, id, err, wrong.code)
		}
	}
	if rest, ok := c.(overREST); ok {
		rejectsInvalidRequests(t, rest)
	}
	if after, _, err := increase(t.Context(), c, 1); after != 2 || err != nil {
		t.Errorf("after the invalid calls increase(1) returned %d, error %v", after, err)
	}
}

func rejectsInvalidRequests(t *testing.T, c overREST) {
	t.Helper()
	for _, wrong := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/increase", ``, 400},
		{"POST", "/increase", `{"value": `, 400},
		{"POST", "/increase", `[1]`, 400},
		{"POST", "/increase", `{"value": "one"}`, 400},
		{"POST", "/increase", `{"value": -1}`, 400},
		{"POST", "/increase", `{"value": 1.5}`, 400},
		{"POST", "/increase", `{"value": 4294967296}`, 400},
		{"POST", "/increase", `{"valeu": 1}`, 400},
		{"POST", "/orders", `{"articles": [null]}`, 400},
		{"POST", "/orders", `{"customerId": "AAABBB", "articles": []}`, 400},
		{"POST", "/orders", `{"articles": {"id": "a"}}`, 400},
		{"GET", "/increase", ``, 405},
		{"POST", "/nowhere", `{}`, 404},
	} {
		code, id, said, err := c.ask(t.Context(), wrong.method, wrong.path, []byte(wrong.body))
		if code != wrong.code || id != "b" || err != nil || code == 400 && !strings.Contains(string(said), `"error"`) {
			t.Errorf("%s %s %s: status %d of %q: %s %v", wrong.method, wrong.path, wrong.body, code, id, said, err)
		}
		if strings.Contains(string(said), "Traceback") || strings.Contains(string(said), "\tat ") {
			t.Errorf("%s %s %s: the answer contains a stack trace: %s", wrong.method, wrong.path, wrong.body, said)
		}
	}
}

func TestServersRejectInvalidFlags(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		all := [][]string{
			{"--model", "steam"}, {"--delay", "5parsecs"}, {"--workers", "many"}, {"--listen", "nowhere"}, {"--listen", "0.0.0.0:0"},
			{"--public", "--listen", "no.such.host.invalid:1"}, {"--frobnicate"},
		}
		if !slices.ContainsFunc(language.All(), func(l language.Language) bool { return l.Models[0].Name == m.Name }) {
			all = all[1:2] // a language has one parser, and takes a second to start
		}
		for _, wrong := range all {
			server, err := process.Start(process.Spec{Args: append(append(command[:len(command):len(command)], "--listen", free(t)), wrong...)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Kill)
			<-server.Done()
			if said := wrong[len(wrong)-1]; server.Err() == nil || !strings.Contains(server.Log(), said) {
				t.Errorf("%v: the server ended with %v, want status 2\n%s", wrong, server.Err(), server.Log())
			}
		}
	})
}
