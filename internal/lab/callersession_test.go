package lab

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/cluster/local"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/testkit"
	"rpclab/internal/workload"
)

func TestAResolverLogOmitsRepetitions(t *testing.T) {
	var log resolverLog
	at := time.Now()
	for range 100_000 { // a channel per call
		log.add(at, []string{"b", "a"})
	}
	log.add(at, []string{"a"})
	log.add(at, []string{"a", "b"})
	if sets := log.all(); len(sets) != 3 {
		t.Errorf("the log has %d sets, want 3", len(sets))
	}
}

// connecting is a session whose first batches fail with a code, and whose connection to the second backend is ready
// after some batches.
type connecting struct {
	batches, failing, after int
	code                    string // of the batches that fail
}

func (c *connecting) Run(_ context.Context, plan pace.Pace, _ measure.StartSignal) (*measure.Recorder, time.Time, error) {
	c.batches++
	recorder, code := measure.NewRecorder(0), measure.OK
	if c.batches <= c.failing {
		code = c.code
	}
	recorder.Record(measure.Call{Backend: "a", Code: code})
	if c.batches > c.after {
		recorder.Record(measure.Call{Backend: "b", Code: code})
	}
	return recorder, time.Now(), nil
}

func (c *connecting) Close() error { return nil }

func TestAWarmUpReachesEachBackendThatTheResolverReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name         string
			each         bool
			after, least int
			most         int
		}{
			{"a connection that is ready late", true, 5, 6, 6},
			{"a caller whose calls stay on one backend", false, 5, 2, 2},
			{"a backend that never answers", true, 1 << 30, 3, int(warmupPatience/warmupPause) + 3},
		} {
			calls := &connecting{after: c.after}
			s := callerSession{calls: calls}
			s.updates.add(time.Now(), []string{"127.0.0.1:1", "127.0.0.1:2"})
			if err := s.warm(t.Context(), assignment{Warmup: 5, EachBackend: c.each}); err != nil || calls.batches < c.least || calls.batches > c.most {
				t.Errorf("%s: %d batches, %v; want %d to %d", c.name, calls.batches, err, c.least, c.most)
			}
		}
	})
}

func TestAWarmUpWaitsForConnectionsThatTakeLongerThanTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			calls   connecting
			batches int
			fails   bool
		}{
			{connecting{failing: 4, code: "DEADLINE_EXCEEDED"}, 5, false},
			{connecting{failing: 1 << 30, code: "DEADLINE_EXCEEDED"}, int(warmupPatience/warmupPause) + 3, true},
			{connecting{failing: 1 << 30, code: "UNAVAILABLE"}, 1, true},
			{connecting{failing: 1 << 30, code: "NOT_FOUND"}, 1, true},
		} {
			s := callerSession{calls: &c.calls}
			err := s.warm(t.Context(), assignment{Warmup: 5})
			if (err != nil) != c.fails || c.calls.batches != c.batches {
				t.Errorf("%d batches of %s: %d batches were made, %v; want %d", c.calls.failing, c.calls.code, c.calls.batches, err, c.batches)
			}
			// The server may have answered with this code.
			if want := "warm-up: all 5 calls failed: " + c.calls.code; c.fails && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.calls.code, err, want)
			}
		}
	})
}

// deploy deploys a server with one backend on this machine.
func deploy(t *testing.T, args ...string) (*local.Cluster, cluster.Service) {
	t.Helper()
	c, err := local.New(local.Options{Server: []string{testkit.Rpclab(t), "server"}, Self: []string{testkit.Rpclab(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := c.Deploy(t.Context(), cluster.Spec{Name: "greeter", Replicas: 1, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return c, d.Service()
}

// greeting is an assignment to call the greeter directly.
func greeting(service cluster.Service, library string, warmup int) assignment {
	return assignment{Route: "direct", Service: service, Caller: library, Warmup: warmup, Job: caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: 2 * time.Minute, Workload: workload.Spec{Greet: &workload.Greet{}},
	}}
}

func TestACallerExitsDuringALoadWhenItsLabHasExited(t *testing.T) {
	_, service := deploy(t)
	process := startPipe(ServeCaller)
	snapshots := make(chan measure.Snapshot, 100)
	p := newCallerProcess(cluster.Caller{Process: process}, "caller", func(s measure.Snapshot) { snapshots <- s })
	if _, err := openMethod.Call(t.Context(), p.client, greeting(service, "grpc-go", 1)); err != nil {
		t.Fatal(err)
	}
	load := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := p.load(ctx, time.Now(), loadRequest{Watch: true, Pace: pace.Spec{Closed: &pace.Closed{Users: 1, Duration: time.Hour}}})
		load <- err
	}()
	<-snapshots // the load is in progress
	cancel()
	if err := <-load; !errors.Is(err, context.Canceled) {
		t.Errorf("the load ended with %v", err)
	}
	defer p.kill()
	_ = process.stdin.Close()
	select {
	case <-process.done:
	case <-time.After(time.Minute):
		t.Fatal("a load of an hour continues without its lab")
	}
}

// A capacity search overloads servers. What one probe leaves must not affect the next.
func TestCallsInFlightAfterTheLimitOfALoadAreCancelled(t *testing.T) {
	_, service := deploy(t, "--delay", "1h")
	for _, name := range []string{"grpc-go", "wire"} {
		p := newCallerProcess(cluster.Caller{Process: startPipe(ServeCaller)}, name, nil)
		defer p.kill()
		if _, err := openMethod.Call(t.Context(), p.client, greeting(service, name, 0)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m, err := p.load(t.Context(), time.Now(), loadRequest{Pace: pace.Spec{Burst: &pace.Burst{Calls: 10}}, Limit: 500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			failed := uint64(0)
			for _, n := range m.Errors {
				failed += n
			}
			if m.Calls != 10 || failed != 10 || m.Elapsed > time.Minute {
				t.Errorf("%s: %d calls in %v, errors %v", name, m.Calls, m.Elapsed, m.Errors)
			}
		}
	}
}

func TestACallerReportsWhyItCannotOpenAnAssignment(t *testing.T) {
	p := newCallerProcess(cluster.Caller{Process: startPipe(ServeCaller)}, "caller 2 of 4", nil)
	defer p.kill()
	_, err := openMethod.Call(t.Context(), p.client, assignment{Route: "nowhere", Caller: "grpc-go"})
	if err == nil || !strings.HasPrefix(err.Error(), `caller 2 of 4: no route "nowhere"`) {
		t.Errorf("an unknown route: %v", err)
	}
}

func TestACallerWithoutALabReportsWhatStartsIt(t *testing.T) {
	if err := ServeCaller(strings.NewReader(""), io.Discard); err == nil || !strings.Contains(err.Error(), "rpclab run") {
		t.Errorf("got %v", err)
	}
}
