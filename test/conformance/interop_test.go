package conformance

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	interopv1 "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"

	"rpclab/internal/testkit"
)

// TestInteropCasesOfLoads makes the test cases of gRPC's interop suite with both engines against grpc-go's interop
// server (grpc/doc/interop-test-descriptions.md). Not among them are those that this server does not support (cached
// GET requests, compression that a message asks for), credentials of cloud platforms, and ORCA, whose reports a load
// does not read.
func TestInteropCasesOfLoads(t *testing.T) {
	address, count := interopServer(t)
	payload := func(size int) string {
		return fmt.Sprintf(`{"body": %q}`, base64.StdEncoding.EncodeToString(make([]byte, size)))
	}
	echoed := []string{"-H", "x-grpc-test-echo-initial: test_initial_metadata_value", "-H", "x-grpc-test-echo-trailing-bin: q6ur"}
	const special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
	large := fmt.Sprintf(`{"response_size": 31415, "payload": %s}`, payload(27182))
	for name, c := range map[string]struct {
		method, data string
		args         []string
		answers      int64  // of a call
		code, says   string // of every call; empty: OK
		echoes       bool   // the server got the metadata that it echoes
		wireOnly     bool
	}{
		"empty_unary":             {method: "TestService/EmptyCall"},
		"large_unary":             {method: "TestService/UnaryCall", data: large},
		"compressed":              {method: "TestService/UnaryCall", data: large, args: []string{"--compress", "gzip"}},
		"custom_metadata":         {method: "TestService/UnaryCall", args: echoed, echoes: true},
		"custom_metadata, stream": {method: "TestService/FullDuplexCall", data: `{"response_parameters": [{"size": 9}]}`, args: echoed, answers: 1, echoes: true},
		"client_streaming": {method: "TestService/StreamingInputCall", data: fmt.Sprintf(`{"payload": %s}`, payload(27182)),
			args: []string{"--messages", "4"}, answers: 1},
		"server_streaming": {method: "TestService/StreamingOutputCall", answers: 4,
			data: `{"response_parameters": [{"size": 31415}, {"size": 9}, {"size": 2653}, {"size": 58979}]}`},
		"ping_pong": {method: "TestService/FullDuplexCall", data: fmt.Sprintf(`{"response_parameters": [{"size": 31415}], "payload": %s}`, payload(27182)),
			args: []string{"--messages", "4", "--ping-pong"}, answers: 4},
		"two answers to each message": {method: "TestService/FullDuplexCall", data: `{"response_parameters": [{"size": 9}, {"size": 2653}]}`,
			args: []string{"--messages", "4"}, answers: 8},
		"status_code_and_message": {method: "TestService/UnaryCall", data: `{"response_status": {"code": 2, "message": "test status message"}}`,
			code: "UNKNOWN", says: "test status message"},
		"status_code_and_message, stream": {method: "TestService/FullDuplexCall", data: `{"response_status": {"code": 2, "message": "test status message"}}`,
			code: "UNKNOWN", says: "test status message"},
		"special_status_message": {method: "TestService/UnaryCall", data: fmt.Sprintf(`{"response_status": {"code": 2, "message": %q}}`, special),
			code: "UNKNOWN", says: special},
		"unimplemented_method":  {method: "TestService/UnimplementedCall", code: "UNIMPLEMENTED"},
		"unimplemented_service": {method: "UnimplementedService/UnimplementedCall", code: "UNIMPLEMENTED"},
		"timeout_on_sleeping_server": {method: "TestService/StreamingOutputCall", data: `{"response_parameters": [{"size": 9, "interval_us": 10000000}]}`,
			args: []string{"--timeout", "300ms"}, code: "DEADLINE_EXCEEDED"},
		"empty_stream": {method: "TestService/FullDuplexCall", args: []string{"--messages", "0"}},
		"half_duplex": {method: "TestService/HalfDuplexCall", data: `{"response_parameters": [{"size": 31415}]}`,
			args: []string{"--messages", "4"}, answers: 4},
		"rpc_soak":           {method: "TestService/UnaryCall", data: large, args: []string{"--assert", "max < 10s"}},
		"channel_soak":       {method: "TestService/UnaryCall", data: large, args: []string{"--connections", "per-call"}, wireOnly: true},
		"cancel_after_begin": {method: "TestService/FullDuplexCall", args: []string{"--messages", "0", "--stream-duration", "50ms", "--stream-empty"}},
		"cancel_after_first_response": {method: "TestService/FullDuplexCall", data: fmt.Sprintf(`{"response_parameters": [{"size": 31415}], "payload": %s}`, payload(27182)),
			args: []string{"--stream-messages", "1"}, answers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, engine := range []string{"wire", "grpc-go"} {
				if c.wireOnly && engine != "wire" {
					continue
				}
				mark := name + " with " + engine
				args := append([]string{"--call", "grpc.testing." + c.method, "-d", c.data, "-H", "mark: " + mark,
					"--calls", fmt.Sprint(loadCalls), "--concurrency", "4", "--engine", engine}, c.args...)
				arm := runLoad(t, append(args, address)...)
				failed := uint64(0)
				if c.code != "" {
					failed = loadCalls
				}
				if arm.Calls != loadCalls || arm.Errors[c.code] != failed || arm.Failed() != failed || !strings.Contains(arm.Samples[c.code], c.says) {
					t.Errorf("%s: %d calls, errors %v %q; want %d calls, of which %d with %s %q", engine, arm.Calls, arm.Errors, arm.Samples, loadCalls, failed, c.code, c.says)
				}
				if got := answersOf(t, arm); got != c.answers*loadCalls {
					t.Errorf("%s: %d answers, want %d", engine, got, c.answers*loadCalls)
				}
				if c.echoes {
					mark += " test_initial_metadata_value \xab\xab\xab"
				}
				if !strings.HasPrefix(c.method, "Unimplemented") { // a call that timed out may reach the server later
					testkit.Await(t, fmt.Sprintf("%s: the server counts %d calls", engine, loadCalls), func() bool { return count(mark) == loadCalls })
				}
			}
		})
	}
}

// TestInteropPickFirstOfLoads is the case pick_first_unary: of two servers, one gets all calls.
func TestInteropPickFirstOfLoads(t *testing.T) {
	first, countFirst := interopServer(t)
	second, _ := interopServer(t)
	for _, engine := range []string{"wire", "grpc-go"} {
		arm := runLoad(t, "--call", "grpc.testing.TestService/UnaryCall", "-H", "mark: "+engine, "--calls", fmt.Sprint(loadCalls), "--concurrency", "4",
			"--balance", "pick_first", "--engine", engine, first+","+second)
		if arm.Calls != loadCalls || arm.Failed() > 0 || arm.Backends[first] != loadCalls || countFirst(engine) != loadCalls {
			t.Errorf("%s: %d calls, errors %v, backends %v; the first server counts %d; want %d calls by %s", engine, arm.Calls, arm.Samples, arm.Backends, countFirst(engine), loadCalls, first)
		}
	}
}

// interopServer serves the interop server until the test ends. count returns the calls with a mark in their metadata,
// which also has the metadata that the server echoes.
func interopServer(t *testing.T) (address string, count func(mark string) int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	marks := map[string]int{}
	add := func(ctx context.Context, method string) {
		if strings.HasPrefix(method, "/grpc.testing.") {
			mu.Lock()
			defer mu.Unlock()
			marks[strings.Join(slices.Concat(metadata.ValueFromIncomingContext(ctx, "mark"), metadata.ValueFromIncomingContext(ctx, "x-grpc-test-echo-initial"),
				metadata.ValueFromIncomingContext(ctx, "x-grpc-test-echo-trailing-bin")), " ")]++
		}
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			add(ctx, info.FullMethod)
			return handle(ctx, request)
		}),
		grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			add(stream.Context(), info.FullMethod)
			return handle(service, stream)
		}))
	interopv1.RegisterTestServiceServer(server, interop.NewTestServer())
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), func(mark string) int {
		mu.Lock()
		defer mu.Unlock()
		return marks[mark]
	}
}
