package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	reflectiongrpc "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"rpclab/internal/service/method"
)

// idealFile is a service file with all that one can say: how the service runs here and on Kubernetes, and calls of both
// protocols and of a stream that never ends.
const idealFile = `service: orders
server:
  command: ["./orders", "-addr", "{{.Address}}"]     # local: one process per replica; also {{.Host}} {{.Port}} {{.ID}}
  image: registry.example.org/orders:1.4              # Kubernetes: pods of our namespace; args, env, resources, port
  # deployment: shop/orders                           # Kubernetes: the pod template of a Deployment there, copied into our namespace
  # service: shop/orders                              # Kubernetes: what runs there now, as it is: nothing is changed
  # addresses: [10.0.3.7:50051, 10.0.3.8:50051]       # what runs anywhere, as it is
  dir: .
  env: {GREETING: hello}
  replicas: 3
  ready: grpc
  stop: {signal: TERM, grace: 5s}
  identity: peer
calls:
  get:    {method: orders.v1.Orders/Get, data: {customer_id: "{{randomInt 1 99}}"}, check: "size(answer.orders) == 20"}
  list:   {http: GET, path: "/orders?customer={{randomInt 1 99}}", check: "status == 200"}
  follow: {method: orders.v1.Orders/Watch, stream: {messages: 10}}      # a stream that never ends by itself is done after so many, or after a time
proto: [orders.proto]    # or protoset; reflection otherwise
`

const myQuestion = `experiment: my-question
question: Is REST slower than gRPC, and what do ten messages of a stream cost?
services:
  orders:
    server: {command: ["./orders", "-addr", "{{.Address}}"], replicas: 2}
    calls:
      get:    {method: orders.v1.Orders/Get, data: {customer_id: "{{randomInt 1 99}}"}, check: "size(answer.orders) == 20"}
      follow: {method: orders.v1.Orders/Watch, stream: {messages: 10}}
  rest:
    server: {command: ["./orders", "-addr", "{{.Address}}"], ready: {http: /healthz}, replicas: 2}
    calls: {list: {http: GET, path: "/orders?customer={{randomInt 1 99}}", check: "status == 200 && size(answer.orders) == 20"}}
defaults: {service: orders, route: clusterip, workload: {call: get}, load: {closed: {users: 2, calls: 100, duration: 60s}}}
arms:
  grpc: {}
  stream: {workload: {call: follow}}
  rest: {service: rest, workload: {call: list}, caller: {kind: http}}
rounds: 1
`

const ordersServer = "RPCLAB_TEST_ORDERS_SERVER" // the address; -addr is a flag of the script before this program

// TestHelperOrdersServer is no test: it is a service for gRPC and HTTP/1.1 at one port, if an environment variable says so.
func TestHelperOrdersServer(t *testing.T) {
	address := os.Getenv(ordersServer)
	if address == "" {
		return
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := ordersService(t, "orders.proto").Serve(listener); err != nil {
		t.Fatal(err)
	}
}

func ordersService(t *testing.T, definition string) *http.Server {
	t.Helper()
	order := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "1-1")
	var twenty []byte
	for range 20 {
		twenty = protowire.AppendBytes(protowire.AppendTag(twenty, 1, protowire.BytesType), order)
	}
	calls := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		send := func(text []byte) error {
			answer := new(emptypb.Empty)
			answer.ProtoReflect().SetUnknown(text)
			return stream.SendMsg(answer)
		}
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		switch name, _ := grpc.MethodFromServerStream(stream); name {
		case "/orders.v1.Orders/Get":
			return send(twenty)
		case "/orders.v1.Orders/Watch":
			for {
				if err := send(order); err != nil {
					return err
				}
				select {
				case <-stream.Context().Done():
					return stream.Context().Err()
				case <-time.After(time.Millisecond):
				}
			}
		default:
			return status.Error(codes.Unimplemented, name)
		}
	}))
	reflectiongrpc.RegisterServerReflectionServer(calls, ordersReflection(t, definition))
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.ProtoMajor == 2:
			calls.ServeHTTP(w, r)
		case r.URL.Path == "/orders":
			w.Header().Set("content-type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"orders": make([]int, 20)}) // the client may have gone
		case r.URL.Path != "/healthz":
			http.NotFound(w, r)
		}
	})}
}

// listed are the services that reflection lists, by name.
type listed map[string]grpc.ServiceInfo

// GetServiceInfo implements [reflection.ServiceInfoProvider].
func (l listed) GetServiceInfo() map[string]grpc.ServiceInfo { return l }

func ordersReflection(t *testing.T, definition string) reflectiongrpc.ServerReflectionServer {
	t.Helper()
	source, err := method.FromProto(context.Background(), []string{definition}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := method.Descriptors(source)
	if err != nil {
		t.Fatal(err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(text, set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	return reflection.NewServerV1(reflection.ServerOptions{Services: listed{"orders.v1.Orders": {}}, DescriptorResolver: files})
}

// TestTheIdealServiceFileRuns runs the file and the commands by which services were designed, on a service that knows
// nothing of rpclab.
func TestTheIdealServiceFileRuns(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	definition, err := os.ReadFile("../../examples/node-service/orders.proto")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"orders": "#!/bin/sh\n" + ordersServer + `="$2" exec '` + os.Args[0] + "' -test.run='^TestHelperOrdersServer$'\n", "orders.proto": string(definition),
		"orders.yaml": idealFile, "my-question.yaml": myQuestion,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(line string) string {
		t.Helper()
		c := command(t, data, strings.Fields(line)[1:]...)
		c.Dir = dir
		s, err := ran(c)
		if err != nil || s.code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s%s", line, s.code, err, s.stdout, s.stderr)
		}
		return s.stdout
	}
	server := ordersService(t, filepath.Join(dir, "orders.proto"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()
	draft := run(fmt.Sprintf("rpclab init %s", listener.Addr()))
	for _, want := range []string{"method: orders.v1.Orders/Get", "method: orders.v1.Orders/Watch"} {
		if !strings.Contains(draft, want) {
			t.Errorf("rpclab init lacks %s:\n%s", want, draft)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "draft.yaml"), []byte(draft), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"rpclab load --service draft.yaml --calls 5 --assert errors==0",
		"rpclab run churn --service orders.yaml --quick --arms clusterip-shared,endpointslice",
		"rpclab run my-question.yaml --assert errors==0",
		"rpclab load --service orders.yaml --call get --rate 500 --duration 1s --assert errors==0",
		"rpclab load --service orders.yaml --call list --rate 500 --duration 1s --assert errors==0",
		"rpclab load --service orders.yaml --call follow --concurrency 2 --calls 20 --assert errors==0",
	} {
		run(line)
	}
	// On Kubernetes the image runs: without a cluster the run ends when it looks for one.
	c := command(t, data, "run", "churn", "--service", "orders.yaml", "--on", "kubernetes", "--kubeconfig", "/nothing", "--image", "x")
	c.Dir = dir
	if s, err := ran(c); err != nil || s.code != 2 || !strings.Contains(s.stderr, "/nothing") || strings.Contains(s.stderr, "server.command") {
		t.Errorf("on Kubernetes: exit code %d, %v, want 2, as there is no such file:\n%s", s.code, err, s.stderr)
	}
}
