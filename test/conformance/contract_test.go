package conformance

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

// TestServersDrainAsTheContractSays tells a server to go while it has a call: it says
// that it does not serve, takes one more, answers both though the drain ends before, and
// exits with 0.
func TestServersDrainAsTheContractSays(t *testing.T) {
	eachLanguage(t, func(t *testing.T, command []string) {
		addr := free(t)
		server := start(t, addr, append(command, "--listen", addr, "--id", "b", "--delay", "0m2s", "--drain", "1.5s")...)
		channel := dial(t, addr)
		if got := health(t, channel); got != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("at first it is %v", got)
		}
		pending := make(chan error, 1)
		began := time.Now()
		go func() { pending <- hello(t.Context(), t, channel) }()
		if err := server.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "it says that it does not serve", func() bool {
			return health(t, channel) == healthv1.HealthCheckResponse_NOT_SERVING
		})
		if err := hello(t.Context(), t, channel); err != nil {
			t.Errorf("a call while it drains: %v", err)
		}
		if err := <-pending; err != nil {
			t.Errorf("the call that it had: %v", err)
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("two answers in %v; the delay is 2s", took)
		}
		<-server.Done()
		if took := time.Since(began); server.Err() != nil || took < 2*time.Second {
			t.Errorf("it ended after %v with %v; its last call takes 2s\n%s", took, server.Err(), server.Log())
		}
	})
}

func TestServersRefuseWrongFlags(t *testing.T) {
	eachLanguage(t, func(t *testing.T, command []string) {
		server, err := process.Start(process.Spec{Args: append(command, "--listen", free(t), "--delay", "5parsecs")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Kill)
		<-server.Done()
		if server.Err() == nil || !strings.Contains(server.Log(), "5parsecs") {
			t.Errorf("--delay 5parsecs: it ended with %v and said\n%s", server.Err(), server.Log())
		}
	})
}

func dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}

func health(t *testing.T, channel *grpc.ClientConn) healthv1.HealthCheckResponse_ServingStatus {
	t.Helper()
	answer, err := healthv1.NewHealthClient(channel).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status
}

// hello makes one call and looks at the answer and its trailer.
func hello(ctx context.Context, t *testing.T, channel *grpc.ClientConn) error {
	var trailer metadata.MD
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"}, grpc.Trailer(&trailer))
	if err != nil {
		return err
	}
	if ids := trailer[workload.Trailer]; reply.Message != "Hello, you" || reply.Backend != "b" || len(ids) != 1 || ids[0] != "b" {
		t.Errorf("got %v with the trailer %v", reply, trailer)
	}
	return nil
}
