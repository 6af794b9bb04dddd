package workload_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestASlowFaultDelaysAnswers(t *testing.T) {
	for name, ail := range map[string]workload.Fault{
		"by a time":                 {Slow: 130 * time.Millisecond},
		"by a factor of its delay":  {Factor: 8},
		"by both":                   {Slow: 50 * time.Millisecond, Factor: 5},
		"a factor is not a speedup": {Slow: 130 * time.Millisecond, Factor: 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			server := &workload.Server{ID: "b", Delay: 20 * time.Millisecond}
			channel, _, _ := serve(t, server)
			server.SetFault(ail)
			began := time.Now()
			if _, _, err := greet(t.Context(), channel); err != nil || time.Since(began) < 150*time.Millisecond {
				t.Errorf("answered in %v, %v", time.Since(began), err)
			}
		})
	}
}

func TestASlowCallKeepsItsWorker(t *testing.T) {
	server := &workload.Server{ID: "b", Workers: 2}
	channel, _, _ := serve(t, server)
	server.SetFault(workload.Fault{Slow: 50 * time.Millisecond})
	sixCallsKeepTwoWorkersBusy(t, channel)
}

func TestAnErrorLoopNeedsNoWorker(t *testing.T) {
	server := &workload.Server{ID: "b", Delay: time.Hour, Workers: 1}
	channel, _, _ := serve(t, server)
	server.SetFault(workload.Fault{Code: codes.Internal})
	_, trailer, err := greet(t.Context(), channel)
	if status.Code(err) != codes.Internal || strings.Join(trailer[workload.BackendTrailer], "") != "b" {
		t.Errorf("got %v with the trailer %v", err, trailer)
	}
}

func TestEveryMessageOfAStreamIsACall(t *testing.T) {
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
		t.Errorf("the message of a slow server took %v, %v", took, err)
	}
	if _, _, err := greet(t.Context(), channel); err != nil {
		t.Errorf("the only worker is not given back between two messages: %v", err)
	}
	server.SetFault(workload.Fault{Code: codes.Unavailable})
	if _, err := ask(); status.Code(err) != codes.Unavailable {
		t.Errorf("the message of an error loop: %v", err)
	}
	var count strings.Builder
	if server.WriteCount(&count); count.String() != "4\n" {
		t.Errorf("3 messages and a call are %q calls", count.String())
	}
}

func TestHealthFlaps(t *testing.T) {
	server := &workload.Server{ID: "b"}
	channel, _, _ := serve(t, server)
	watch, err := healthv1.NewHealthClient(channel).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const yes, no = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	next := func(want healthv1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.Status != want {
			t.Errorf("health is %v, %v, want %v", got.GetStatus(), err, want)
		}
	}
	next(yes)
	server.SetFault(workload.Fault{Flap: 50 * time.Millisecond})
	for range 2 {
		next(no)
		next(yes)
	}
	server.SetFault(workload.Fault{Flap: time.Hour})
	next(no)
	server.SetFault(workload.Fault{Flap: time.Hour, Slow: 1}) // does not begin anew
	server.SetFault(workload.Fault{})
	next(yes)
}

func TestAnOldConnectionReceivesGOAWAY(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b", Delay: 300 * time.Millisecond, MaxAge: 100 * time.Millisecond})
	for range 2 { // the call lasts longer than its connection may, and is answered all the same
		before := channel.GetState()
		if _, _, err := greet(t.Context(), channel); err != nil {
			t.Errorf("%v, before: %v", err, before)
		}
	}
	short, _, _ := serve(t, &workload.Server{ID: "b", Delay: time.Hour, MaxAge: 50 * time.Millisecond, AgeGrace: 50 * time.Millisecond})
	if _, _, err := greet(t.Context(), short); status.Code(err) != codes.Unavailable {
		t.Errorf("a call that outlasts the grace of its connection: %v", err)
	}
}

func TestCommandsAreExecuted(t *testing.T) {
	server := &workload.Server{ID: "b"}
	channel, _, _ := serve(t, server)
	orders, supervisor := io.Pipe()
	answers, mouth := io.Pipe()
	gone := make(chan struct{})
	go func() { server.ServeCommands(orders, mouth, nil); close(gone) }()
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(supervisor, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"ail": {"code": "RESOURCE_EXHAUSTED"}}`)
	testkit.Await(t, "it fails", func() bool {
		_, _, err := greet(t.Context(), channel)
		return status.Code(err) == codes.ResourceExhausted
	})
	say(`this is no order`)
	say(`{"ail": {}}`)
	testkit.Await(t, "it is well", func() bool { _, _, err := greet(t.Context(), channel); return err == nil })
	say(`{"count": true}`)
	count := make([]byte, 20)
	if n, err := answers.Read(count); err != nil || n < 2 || count[n-1] != '\n' {
		t.Errorf("it counts %q, %v", count[:n], err)
	}
	supervisor.Close()
	<-gone
}
