package load

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result"
)

// stallingGreeter answers the first 200 calls at once, and the others 6 s after the first has arrived.
type stallingGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	calls    atomic.Int64
	first    sync.Once
	began    time.Time     // of the first call
	took     atomic.Int64  // nanoseconds from the first call to the 200th
	released chan struct{} // closed after 6 s
}

func (g *stallingGreeter) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	g.first.Do(func() {
		g.began = time.Now()
		time.AfterFunc(6*time.Second, func() { close(g.released) })
	})
	switch call := g.calls.Add(1); {
	case call == 200:
		g.took.Store(int64(time.Since(g.began)))
	case call > 200:
		<-g.released
	}
	return &rpclabv1.HelloReply{}, nil
}

// A server that stalls near the end of a load answers the last calls after it. That time is not part of
// the rate. The first 200 calls are due within 0.8 s of a window of 2 s. If the test machine itself stalls for longer,
// the load is repeated.
func TestAStallNearTheEndIsDrainAndNotRate(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"open loop for a time":       func(s *Settings) { s.Rate, s.Duration = 250, 2*time.Second },
		"open loop of so many calls": func(s *Settings) { s.Rate, s.Calls = 250, 500 },
		"stages":                     func(s *Settings) { s.Stages = "0s:250,2s:250" },
		"closed loop":                func(s *Settings) { s.Concurrency, s.Think, s.Duration = 100, 100*time.Millisecond, 2*time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arm := loadAStallingServer(t, change)
			if arm.Window == nil {
				t.Fatal("no window, want 2 s")
			}
			// Over the time until the last answer there would be at most 83 calls/s.
			if arm.Window.LengthMS != 2000 || arm.Window.DrainMS < 3900 || arm.Rate != 100 || arm.Answered() != arm.Rate {
				t.Errorf("%d calls, %g calls/s, %+v; want 200 calls in 2 s, and 4 s of drain", arm.Calls, arm.Rate, *arm.Window)
			}
		})
	}
}

func loadAStallingServer(t *testing.T, change func(*Settings)) result.Arm {
	t.Helper()
	const tries = 3
	for try := 1; ; try++ {
		server := &stallingGreeter{released: make(chan struct{})}
		s := validSettings()
		s.Target, s.MaxInFlight, s.Proto = serve(t, server), 1000, "../../api/rpclab/v1/greeter.proto"
		change(&s)
		arm := run(t, s).Arms[0]
		took := time.Duration(server.took.Load())
		if took > 0 && took < 1500*time.Millisecond || try == tries {
			return arm
		}
		t.Logf("the machine stalled: 200 calls arrived within %v", took)
	}
}

func TestALoadOfSoManyCallsHasNoWindow(t *testing.T) {
	s := validSettings()
	s.Target, s.Concurrency, s.Calls = greeter(t), 2, 30
	if arm := run(t, s).Arms[0]; arm.Window != nil || arm.Rate <= 0 {
		t.Errorf("%g calls/s in the window %+v, want a rate until the last answer", arm.Rate, arm.Window)
	}
}

// A number that means "until I stop it" has to start at once: to add up its calls would take minutes.
func TestTheWindowOfVeryManyCallsIsFoundAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		calls   uint64
		poisson bool
		want    time.Duration
	}{
		"evenly":         {2_000_000_000, false, 1_000_000 * time.Second},
		"over 292 years": {math.MaxUint64, false, 0},
		"at random":      {math.MaxUint64, true, 0},
		"one":            {1, false, 500 * time.Microsecond},
	} {
		s := validSettings()
		s.Rate, s.Calls, s.Poisson = 2000, c.calls, c.poisson
		plan, err := s.Pace()
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Window(); got != c.want {
			t.Errorf("%s: the window is %v, want %v", name, got, c.want)
		}
	}
}
