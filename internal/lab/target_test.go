package lab

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/experiment"
	"rpclab/internal/load"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
)

// countedGreeter calls a function with the number of calls so far.
type countedGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	calls atomic.Int64
	seen  func(calls int64)
}

func (g *countedGreeter) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if n := g.calls.Add(1); g.seen != nil {
		g.seen(n)
	}
	return &rpclabv1.HelloReply{}, nil
}

// targetPlan is the plan of a load of a server in this process, with a self-test that takes no time.
func targetPlan(t *testing.T, change func(*load.Settings), seen func(calls int64)) Plan {
	t.Helper()
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, &countedGreeter{seen: seen})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	settings := load.Settings{
		Target: listener.Addr().String(), Call: "rpclab.v1.Greeter/SayHello", Proto: "../../api/rpclab/v1/greeter.proto", Engine: load.Wire,
		Concurrency: 2, MaxInFlight: 100, Timeout: 20 * time.Second, Self: []string{os.Args[0]},
	}
	change(&settings)
	opened, err := load.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		<-served
	})
	plan := LoadPlan(opened)
	plan.target.selfTest = func(context.Context, load.Probe) (*load.SelfTestResult, error) { return new(load.SelfTestResult), nil }
	return plan
}

func TestEachRoundOfALoadIsATrialOfOneArm(t *testing.T) {
	plan := targetPlan(t, func(s *load.Settings) { s.Calls, s.Warmup, s.Rounds, s.Seed = 30, 5, 4, 7 }, nil)
	var steps []string
	d, err := Run(t.Context(), plan, Options{Kind: "local", Progress: func(p Progress) {
		if p.Doing != "" {
			steps = append(steps, p.Doing)
		}
		if p.Live != nil && p.Doing != "" {
			t.Errorf("the step is %q during the load, want none", p.Doing)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	arm := d.Arms[0]
	if d.Experiment != "load" || d.Rounds != 4 || d.TrialCount != 4 || d.Seed != 7 || d.Partial || d.Finished == nil || len(d.Arms) != 1 || len(arm.Trials) != 4 || arm.Calls != 120 {
		t.Fatalf("%s: %d rounds, %d arms, %d trials, %d calls, partial: %t; want 4 rounds of 30 calls in 4 trials of one arm", d.Experiment, d.Rounds, len(d.Arms), len(arm.Trials), arm.Calls, d.Partial)
	}
	values, err := arm.Latency.Decode()
	if err != nil || values.TotalCount() != 120 {
		t.Errorf("the latency is of %d calls, %v; want those of all rounds", values.TotalCount(), err)
	}
	for i, trial := range arm.Trials {
		if trial.Round != i+1 || trial.Calls != 30 || trial.Started.Before(d.Started) || trial.Resources.Client.CPU <= 0 || trial.Resources.Client.RSS == 0 {
			t.Errorf("trial %d: %+v", i, trial)
		}
	}
	if arm.Config["generator"] == nil || arm.Config["target"] != arm.Name || arm.Route != "direct" {
		t.Errorf("the configuration is %v, want that of the load", arm.Config)
	}
	if want := []string{"warming up", "measuring the generator itself"}; !slices.Equal(steps, want) {
		t.Errorf("the steps are %q, want %q", steps, want)
	}
}

const noSelfTest = "the generator's own limits were not measured because of the interrupt"

func TestAnInterruptOfALoadKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := targetPlan(t, func(s *load.Settings) { s.Calls, s.Rounds = 100, 1000 }, func(calls int64) {
		if calls == 250 {
			cancel()
		}
	})
	d, err := Run(ctx, plan, Options{Kind: "local"})
	if !errors.Is(err, context.Canceled) || !d.Partial || d.Rounds != 1000 || len(d.Arms[0].Trials) < 2 || d.Arms[0].Trials[1].Calls != 100 || d.Arms[0].Calls < 240 {
		t.Errorf("partial: %t, %d rounds planned, %d trials, %d calls, %v; want a partial result with the calls so far", d.Partial, d.Rounds, len(d.Arms[0].Trials), d.Arms[0].Calls, err)
	}
	if d.Arms[0].Config["generator"] != nil || !slices.Contains(d.Warnings, noSelfTest) {
		t.Errorf("the warnings are %q, want %q", d.Warnings, noSelfTest)
	}
}

func TestAnInterruptOfTheWarmUpOfALoadGivesNoTrial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := targetPlan(t, func(s *load.Settings) { s.Warmup, s.Calls = 1_000_000_000, 5 }, func(calls int64) {
		if calls == 20 {
			cancel()
		}
	})
	if d, err := Run(ctx, plan, Options{Kind: "local"}); !errors.Is(err, context.Canceled) || !d.Partial || len(d.Arms[0].Trials) != 0 {
		t.Errorf("partial: %t, %d trials, %v; want none, and %v", d.Partial, len(d.Arms[0].Trials), err, context.Canceled)
	}
}

func TestAnInterruptOfTheSelfTestKeepsTheLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := targetPlan(t, func(s *load.Settings) { s.Calls = 20 }, nil)
	plan.target.selfTest = func(ctx context.Context, _ load.Probe) (*load.SelfTestResult, error) {
		cancel()
		return nil, ctx.Err()
	}
	d, err := Run(ctx, plan, Options{Kind: "local"})
	if err != nil || d.Partial || d.Arms[0].Calls != 20 || d.Arms[0].Config["generator"] != nil || !slices.Contains(d.Warnings, noSelfTest) {
		t.Errorf("partial: %v, %d calls, warnings %v, %v; want the whole load of 20 calls without a self-test", d.Partial, d.Arms[0].Calls, d.Warnings, err)
	}
}

func TestASelfTestThatFailsKeepsTheLoad(t *testing.T) {
	plan := targetPlan(t, func(s *load.Settings) { s.Calls = 20 }, nil)
	plan.target.selfTest = func(context.Context, load.Probe) (*load.SelfTestResult, error) { return nil, errors.New("no port") }
	d, err := Run(t.Context(), plan, Options{Kind: "local"})
	if err == nil || !strings.Contains(err.Error(), "measure the generator itself: no port") || d.Arms[0].Calls != 20 {
		t.Errorf("%d calls, %v; want 20 calls and the error", d.Arms[0].Calls, err)
	}
	if want := "the generator's own limits were not measured because the self-test failed: no port"; !slices.Contains(d.Warnings, want) || slices.Contains(d.Warnings, noSelfTest) {
		t.Errorf("the warnings are %q, want %q", d.Warnings, want)
	}
}

// A store that fails is no interrupt.
func TestALoadThatCannotBeStoredWasNotInterrupted(t *testing.T) {
	store, err := result.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plan := targetPlan(t, func(s *load.Settings) { s.Calls, s.Concurrency = 20, 1 }, func(calls int64) {
		if calls == 20 {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	d, err := Run(t.Context(), plan, Options{Kind: "local", Store: store})
	if !errors.Is(err, result.ErrStore) || d.Arms[0].Calls != 20 {
		t.Errorf("%d calls, %v; want 20 calls and an error of the store", d.Arms[0].Calls, err)
	}
	if want := "the generator's own limits were not measured because an error ended the load"; !slices.Contains(d.Warnings, want) || slices.Contains(d.Warnings, noSelfTest) {
		t.Errorf("the warnings are %q, want %q", d.Warnings, want)
	}
}

// A search cancels calls in flight, so that a call that never ends counts as the time that it had, not as its timeout.
func TestACallThatASearchCancelsCountsAsTheTimeThatItHad(t *testing.T) {
	end := make(chan struct{})
	plan := targetPlan(t, func(s *load.Settings) {
		s.Concurrency, s.Search = 0, &experiment.Search{SLO: "p99 < 10s", From: 20, To: 1000, Precision: 50, Duration: 500 * time.Millisecond, MaxInFlight: 100}
	}, func(int64) { <-end })
	t.Cleanup(func() { close(end) }) // before the server stops
	d, err := Run(t.Context(), plan, Options{Kind: "local"})
	if err != nil {
		t.Fatal(err)
	}
	trial := d.Arms[0].Trials[0]
	for _, p := range trial.Capacity.Probes {
		if p.Errors == 0 || p.P99 < 499 || p.P99 > 15e3 { // the timeout is 20 s
			t.Errorf("probe %+v, want a p99 of at least 0.5 s", p)
		}
	}
	if end := trial.Capacity.End; end != string(search.LowestFails) || len(trial.Capacity.Probes) < 2 {
		t.Errorf("the search ended with %q after %d probes, want %q", end, len(trial.Capacity.Probes), search.LowestFails)
	}
}

// The page tells the loads of a search apart by their numbers.
func TestTheLoadsOfATargetAreNumbered(t *testing.T) {
	seen := make(chan int, 16)
	var loads []int
	plan := targetPlan(t, func(s *load.Settings) { s.Calls, s.Concurrency, s.Rounds = 1, 1, 2 }, func(int64) { loads = append(loads, <-seen) }) // a call ends after a second
	if _, err := Run(t.Context(), plan, Options{Kind: "local", Progress: func(p Progress) {
		if p.Live != nil {
			seen <- p.Live.Load
		}
	}}); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2}; !slices.Equal(loads, want) {
		t.Errorf("the loads are %v, want %v", loads, want)
	}
}

// A server that sends no name has the same name during the load as in the result.
func TestTheBackendOfALoadHasItsNameDuringTheLoad(t *testing.T) {
	shown, live := make(chan bool), map[string]uint64{}
	plan := targetPlan(t, func(s *load.Settings) { s.Calls, s.Concurrency = 2, 1 }, func(calls int64) {
		if calls == 2 {
			<-shown
		}
	})
	d, err := Run(t.Context(), plan, Options{Kind: "local", Progress: func(p Progress) {
		if p.Live != nil && p.Live.Backends != nil && len(live) == 0 {
			maps.Copy(live, p.Live.Backends)
			close(shown)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	name := d.Arms[0].Name
	if live[name] != 1 || len(live) != 1 || d.Arms[0].Backends[name] != 2 {
		t.Errorf("the backends are %v during the load and %v after it, want %s with 1 call and with 2", live, d.Arms[0].Backends, name)
	}
}

// slowSession is users whose calls all take the same time.
type slowSession struct{ took time.Duration }

func (s slowSession) Run(ctx context.Context, plan pace.Pace, signal measure.StartSignal) (*measure.Recorder, time.Time, error) {
	start, shards := time.Now(), measure.NewShards(1, 0)
	defer signal.Watch(start, shards.AddTo)()
	for ctx.Err() == nil {
		due := time.Since(start)
		select {
		case <-time.After(s.took):
		case <-ctx.Done():
			return nil, start, nil
		}
		for user := range plan.InFlight() {
			shards.Record(uint64(user), measure.Call{Due: due, Sent: due, Done: time.Since(start), Code: measure.OK})
		}
	}
	return nil, start, nil
}

func (slowSession) Close() error { return nil }

func TestAWarmUpFitsLongCalls(t *testing.T) {
	for _, c := range []struct {
		took, atMost time.Duration
		want         result.WarmUp
	}{
		{10 * time.Millisecond, time.Minute, result.WarmUp{Steady: true, TookMS: 6e3}},
		{2500 * time.Millisecond, 5 * time.Minute, result.WarmUp{Steady: true, TookMS: 20e3}},
		{9500 * time.Millisecond, time.Minute, result.WarmUp{TookMS: 60e3, NeedsMS: 69e3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, err := warmUpUntilSteady(t.Context(), slowSession{c.took}, pace.Closed{Users: 3, Duration: time.Second}, c.atMost)
			if err != nil || got != c.want {
				t.Errorf("calls of %v: the warm-up was %+v, %v; want %+v", c.took, got, err, c.want)
			}
		})
	}
}
