package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result"
)

// patientGreeter answers after 5 ms.
type patientGreeter struct {
	rpclabv1.UnimplementedGreeterServer
}

func (patientGreeter) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	<-time.After(5 * time.Millisecond)
	return &rpclabv1.HelloReply{}, nil
}

// A server with one call at a time on a connection makes calls wait in the client, whichever command makes them.
func TestAWaitForAStreamIsAWarningOfEveryCommand(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxConcurrentStreams(1))
	rpclabv1.RegisterGreeterServer(server, patientGreeter{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	service := filepath.Join(t.TempDir(), "hello.yaml")
	study := filepath.Join(filepath.Dir(service), "mine.yaml")
	for file, text := range map[string]string{
		service: "service: hello\nserver: {addresses: [\"" + listener.Addr().String() + "\"]}\ncalls: {hello: {method: rpclab.v1.Greeter/SayHello, data: {}}}\n",
		study: `experiment: mine
question: Do calls wait?
defaults: {workload: {greet: {}}, route: direct, load: {closed: {users: 8, calls: 80}}}
arms: {wire: {caller: {kind: wire}}, grpc-go: {caller: {kind: grpc-go}}}
rounds: 1
`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inWire := "waited in rpclab for a stream, because the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)"
	inGRPCGo := "waited over 1 ms in grpc-go: for a stream, if the server limits the calls on a connection (SETTINGS_MAX_CONCURRENT_STREAMS)"
	expect := func(what string, d result.Document, warnings ...string) {
		for _, want := range warnings {
			if all := strings.Join(d.Warnings, "\n"); !strings.Contains(all, want) {
				t.Errorf("%s: the warnings are %q, want one with %q", what, all, want)
			}
		}
	}
	ofService, _ := runLoad(t, "--service", service, "-c", "8", "-n", "80", "--engine", "wire")
	expect("load --service", ofService, "hello: 7", inWire)
	run, _ := document(t, study, "--service", service)
	expect("run", run, "wire: 7", inWire, "grpc-go: ", inGRPCGo)
}
