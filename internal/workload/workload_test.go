package workload_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/process/netcut"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server until stop or the end of the test. ended closes when the server has ended.
func serve(t *testing.T, server *workload.Server) (channel *grpc.ClientConn, stop func(), ended <-chan struct{}) {
	t.Helper()
	listener, err := netcut.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ctx, listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("the server ended with %v, want no error", err)
		}
	}()
	channel, err = grpc.NewClient("passthrough:///"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		channel.Close()
		<-done
	})
	return channel, cancel, done
}

func greet(ctx context.Context, channel *grpc.ClientConn) (*rpclabv1.HelloReply, metadata.MD, error) {
	var trailer metadata.MD
	reply, err := rpclabv1.NewGreeterClient(channel).SayHello(ctx, &rpclabv1.HelloRequest{Name: "you"}, grpc.Trailer(&trailer))
	return reply, trailer, err
}

func TestEveryAnswerNamesItsBackend(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b3", Delay: 30 * time.Millisecond})
	began := time.Now()
	reply, trailer, err := greet(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Message != "Hello, you" || reply.Backend != "b3" || trailer[workload.BackendTrailer][0] != "b3" {
		t.Errorf("the reply is %v with the trailer %v, want \"Hello, you\" by b3", reply, trailer)
	}
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("the call took %v, want at least the delay of 30ms", took)
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b", Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := greet(ctx, channel); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the call returns %v, want DEADLINE_EXCEEDED", err)
	}
}

func TestWorkersLimitConcurrentCalls(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b1", Delay: 50 * time.Millisecond, Workers: 2})
	checkSixCallsQueueForTwoWorkers(t, channel)
}

// checkSixCallsQueueForTwoWorkers makes six calls at once, which two workers with a delay of 50 ms
// answer in three rounds.
func checkSixCallsQueueForTwoWorkers(t *testing.T, channel *grpc.ClientConn) {
	t.Helper()
	began := time.Now()
	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() {
			if _, _, err := greet(t.Context(), channel); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("2 workers answered 6 calls of 50ms in %v, want at least 150ms", took)
	}
}

func TestACancelledCallLeavesTheQueue(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b1", Delay: time.Hour, Workers: 1})
	for range 2 { // the second call waits for the worker that the first call has released
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, _, err := greet(ctx, channel); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the call returns %v, want DEADLINE_EXCEEDED", err)
		}
		cancel()
	}
}

func TestAServerDrainsBeforeItStops(t *testing.T) {
	channel, stop, ended := serve(t, &workload.Server{ID: "b", Delay: 100 * time.Millisecond, Drain: 200 * time.Millisecond})
	health := healthv1.NewHealthClient(channel)
	state := func() healthv1.HealthCheckResponse_ServingStatus {
		answer, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status
	}
	if got := state(); got != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("before the stop health is %v, want SERVING", got)
	}
	stop()
	testkit.Await(t, "health is NOT_SERVING", func() bool { return state() == healthv1.HealthCheckResponse_NOT_SERVING })
	if _, _, err := greet(t.Context(), channel); err != nil {
		t.Errorf("a call during the drain returns %v, want an answer", err)
	}
	<-ended
}

func TestReflectionListsTheServices(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b"})
	stream, err := reflectionv1.NewServerReflectionClient(channel).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range answer.GetListServicesResponse().Service {
		names[s.Name] = true
	}
	if !names["rpclab.v1.Greeter"] || !names["grpc.health.v1.Health"] {
		t.Errorf("reflection lists the services %v, want the greeter and health", names)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}

// Java in the C locale cannot read µ in an argument.
func TestArgumentsOfServersAreASCII(t *testing.T) {
	for spec, want := range map[*workload.Spec][]string{
		{Greet: &workload.Greet{Delay: 500 * time.Microsecond}}:                                    {"--delay", "500us"},
		{Orders: &workload.Orders{Delay: 1500 * time.Millisecond, Spread: 2500 * time.Nanosecond}}: {"--delay", "1.5s", "--spread", "2.5us"},
	} {
		if got := spec.ServerArgs(); !slices.Equal(got, want) {
			t.Errorf("the arguments are %q, want %q", got, want)
		}
	}
}
