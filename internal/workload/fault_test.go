package workload_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestASlowFaultDelaysAnswers(t *testing.T) {
	for name, fault := range map[string]workload.Fault{
		"by a time":                 {Slow: 130 * time.Millisecond},
		"by a factor of its delay":  {Factor: 8},
		"by both":                   {Slow: 50 * time.Millisecond, Factor: 5},
		"a factor is not a speedup": {Slow: 130 * time.Millisecond, Factor: 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &workload.Server{ID: "b", Delay: 20 * time.Millisecond}
			channel, _, _ := serve(t, server)
			server.SetFault(fault)
			began := time.Now()
			if _, _, err := greet(t.Context(), channel); err != nil || time.Since(began) < 150*time.Millisecond {
				t.Errorf("the call took %v, %v; want at least 150ms", time.Since(began), err)
			}
		})
	}
}

func TestASlowCallOccupiesItsWorker(t *testing.T) {
	server := &workload.Server{ID: "b", Workers: 2}
	channel, _, _ := serve(t, server)
	server.SetFault(workload.Fault{Slow: 50 * time.Millisecond})
	checkSixCallsQueueForTwoWorkers(t, channel)
}

func TestAnInjectedErrorOccupiesNoWorker(t *testing.T) {
	server := &workload.Server{ID: "b", Delay: time.Hour, Workers: 1}
	channel, _, _ := serve(t, server)
	server.SetFault(workload.Fault{Code: codes.Internal})
	_, trailer, err := greet(t.Context(), channel)
	if status.Code(err) != codes.Internal || strings.Join(trailer[workload.BackendTrailer], "") != "b" {
		t.Errorf("the call returns %v with the trailer %v, want INTERNAL by b", err, trailer)
	}
}

func TestAShareOfCallsFails(t *testing.T) {
	server := &workload.Server{ID: "b"}
	channel, _, _ := serve(t, server)
	server.SetFault(workload.Fault{Code: codes.Internal, Share: 0.25})
	const calls = 400
	failed := 0
	for range calls {
		if _, _, err := greet(t.Context(), channel); status.Code(err) == codes.Internal {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if failed < 50 || failed > 150 { // 5.8 standard deviations
		t.Errorf("%d of %d calls failed, want about 100", failed, calls)
	}
}

func TestEveryMessageOfAStreamCountsAsACall(t *testing.T) {
	server := &workload.Server{ID: "b", Workers: 1}
	channel, _, _ := serve(t, server)
	stream, err := rpclabv1.NewGreeterClient(channel).Greetings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (time.Duration, error) {
		began := time.Now()
		if err := stream.Send(&rpclabv1.HelloRequest{Name: "you"}); err != nil {
			t.Fatal(err)
		}
		_, err := stream.Recv()
		return time.Since(began), err
	}
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	server.SetFault(workload.Fault{Slow: 80 * time.Millisecond})
	if took, err := ask(); err != nil || took < 80*time.Millisecond {
		t.Errorf("a message to a slow server took %v, %v; want at least 80ms", took, err)
	}
	if _, _, err := greet(t.Context(), channel); err != nil {
		t.Errorf("a call between two messages returns %v, want the only worker to be free", err)
	}
	server.SetFault(workload.Fault{Code: codes.Unavailable})
	if _, err := ask(); status.Code(err) != codes.Unavailable {
		t.Errorf("a message to a server with an injected code returns %v, want UNAVAILABLE", err)
	}
	var count strings.Builder
	if server.WriteCount(&count); count.String() != "4\n" {
		t.Errorf("the server counts %q calls for 3 messages and a call, want 4", count.String())
	}
}

func TestAFlappingServerChangesItsHealth(t *testing.T) {
	server := &workload.Server{ID: "b"}
	channel, _, _ := serve(t, server)
	watch, err := healthv1.NewHealthClient(channel).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const serving, notServing = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	next := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.Status != want {
			t.Errorf("health is %v, %v; want %v", got.GetStatus(), err, want)
		}
	}
	next(serving)
	server.SetFault(workload.Fault{Flap: 50 * time.Millisecond})
	for range 2 {
		next(notServing)
		next(serving)
	}
	server.SetFault(workload.Fault{Flap: time.Hour})
	next(notServing)
	server.SetFault(workload.Fault{Flap: time.Hour, Slow: 1}) // the same interval does not start again
	server.SetFault(workload.Fault{})
	next(serving)
}

func TestAnOldConnectionReceivesGOAWAY(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b", Delay: 300 * time.Millisecond, MaxAge: 100 * time.Millisecond})
	for range 2 { // a call that outlasts MaxAge is answered
		before := channel.GetState()
		if _, _, err := greet(t.Context(), channel); err != nil {
			t.Errorf("a call on a channel that was %v returns %v, want an answer", before, err)
		}
	}
	short, _, _ := serve(t, &workload.Server{ID: "b", Delay: time.Hour, MaxAge: 50 * time.Millisecond, AgeGrace: 50 * time.Millisecond})
	if _, _, err := greet(t.Context(), short); status.Code(err) != codes.Unavailable {
		t.Errorf("a call that outlasts MaxAge and AgeGrace returns %v, want UNAVAILABLE", err)
	}
}

func TestCommandsAreExecuted(t *testing.T) {
	server := &workload.Server{ID: "b"}
	channel, _, _ := serve(t, server)
	stdin, supervisor := io.Pipe()
	answers, stdout := io.Pipe()
	ended := make(chan struct{})
	go func() { server.ServeCommands(stdin, stdout, nil); close(ended) }()
	send := func(line string) {
		t.Helper()
		if _, err := io.WriteString(supervisor, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"fault": {"code": "RESOURCE_EXHAUSTED"}}`)
	testkit.Await(t, "calls fail with the injected code", func() bool {
		_, _, err := greet(t.Context(), channel)
		return status.Code(err) == codes.ResourceExhausted
	})
	send(`not a command`)
	send(`{"fault": {}}`)
	testkit.Await(t, "calls are answered", func() bool { _, _, err := greet(t.Context(), channel); return err == nil })
	send(`{"count": true}`)
	count := make([]byte, 20)
	if n, err := answers.Read(count); err != nil || n < 2 || count[n-1] != '\n' {
		t.Errorf("the count is %q, %v; want a line with a number", count[:n], err)
	}
	supervisor.Close()
	<-ended
}

// The kubelet's checks use a port of their own.
func TestAServerInAPodCutsItsConnections(t *testing.T) {
	ready, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &workload.Server{ID: "b", Ready: ready}
	channel, _, _ := serve(t, server)
	call := func(within time.Duration) codes.Code {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, _, err := greet(ctx, channel)
		return status.Code(err)
	}
	const long = 10 * time.Second
	if code := call(long); code != codes.OK {
		t.Fatal(code)
	}
	server.SetFault(workload.Fault{Drop: true})
	if code := call(300 * time.Millisecond); code != codes.DeadlineExceeded {
		t.Errorf("a call ends with %v while packets are dropped", code)
	}
	if answer, err := http.Get("http://" + ready.Addr().String()); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("a readiness check ends with %v, %v while packets are dropped", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	server.SetFault(workload.Fault{})
	if code := call(long); code != codes.OK {
		t.Errorf("a call ends with %v when packets pass again", code)
	}
	server.SetFault(workload.Fault{Slow: time.Hour})
	begun := func() string {
		var count strings.Builder
		server.WriteCount(&count)
		return count.String()
	}
	before, ended := begun(), make(chan codes.Code, 1)
	go func() { ended <- call(long) }()
	testkit.Await(t, "a call is in flight", func() bool { return begun() != before })
	server.ServeCommands(strings.NewReader(`{"reset": true}`+"\n"), io.Discard, nil)
	if code := <-ended; code != codes.Unavailable {
		t.Errorf("a call in flight at a reset ends with %v, want %v", code, codes.Unavailable)
	}
	server.SetFault(workload.Fault{})
	if code := call(long); code != codes.OK {
		t.Errorf("a call after a reset ends with %v", code)
	}
}

// Neither the answer of the call in flight nor a GOAWAY can be written.
func TestAServerInAPodStopsWhilePacketsAreDropped(t *testing.T) {
	calls := map[string]func(address string) error{
		workload.GRPC: func(address string) error {
			channel, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return err
			}
			defer channel.Close()
			_, _, err = greet(context.Background(), channel)
			return err
		},
		workload.REST: func(address string) error {
			answer, err := http.Post("http://"+address+"/greet", "application/json", strings.NewReader(`{"name": "you"}`))
			if err == nil {
				_ = answer.Body.Close()
			}
			return err
		},
		workload.TCP: func(address string) error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return err
			}
			defer conn.Close()
			frame := workload.NewFrame(1, codes.OK, "")
			_, err = conn.Write(frame[:])
			return errors.Join(err, binary.Read(conn, binary.LittleEndian, &frame))
		},
	}
	for _, model := range workload.Models {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			ready, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &workload.Server{ID: "b", Model: model, Ready: ready}
			channel, stop, ended := serve(t, server)
			server.SetFault(workload.Fault{Slow: 300 * time.Millisecond})
			failed := make(chan error, 1)
			go func() { failed <- calls[model](strings.TrimPrefix(channel.Target(), "passthrough:///")) }()
			testkit.Await(t, "a call is in flight", func() bool {
				var count strings.Builder
				server.WriteCount(&count)
				return count.String() == "1\n"
			})
			server.SetFault(workload.Fault{Drop: true})
			stop()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the server has not ended after 10 s")
				server.SetFault(workload.Fault{})
			}
			if err := <-failed; err == nil && !t.Failed() {
				t.Error("the call is answered, want it lost")
			}
		})
	}
}
