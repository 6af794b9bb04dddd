package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/xds"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
)

// TestXDSServesAnyGRPCClient dials xds:///greeter with the bootstrap file that rpclab wrote.
func TestXDSServesAnyGRPCClient(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	dir := t.TempDir()
	bootstrap := filepath.Join(dir, "bootstrap.json")
	plane := command(t, dir, "xds", "--endpoints", address, "--listen", "127.0.0.1:0", "--bootstrap", bootstrap)
	var log bytes.Buffer
	plane.Stderr = &log
	if err := plane.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Process.Kill() })
	var text []byte
	testkit.Await(t, "the bootstrap is written", func() (ok bool) {
		text, _ = os.ReadFile(bootstrap)
		return bytes.HasSuffix(text, []byte("}\n"))
	})
	builder, err := xds.NewXDSResolverWithConfigForTesting(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	channel, err := grpc.NewClient("xds:///greeter", grpc.WithResolvers(builder), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(t.Context(), &rpclabv1.HelloRequest{Name: "you"}, grpc.WaitForReady(true))
	if err != nil || reply.Backend != "one" {
		t.Errorf("answer %v, %v", reply, err)
	}
	if err := channel.Close(); err != nil {
		t.Error(err)
	}
	if err := plane.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := plane.Wait(); err != nil {
		t.Errorf("after SIGTERM the control plane ended with %v", err)
	}
	for _, want := range []string{"msg=serving service=greeter", `agent="gRPC Go"`, "type=Listener", "type=RouteConfiguration", "type=Cluster", "type=ClusterLoadAssignment"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not contain %s:\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "msg=refused") {
		t.Errorf("the client rejected a configuration:\n%s", &log)
	}
}

func TestXDSEndsWithItsSupervisor(t *testing.T) {
	t.Parallel()
	if s := rpclab(t, "xds", "--endpoints", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--supervised"); s.code != 3 {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
}
