package load

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// stallingGreeter answers until a call, and then not before it is released.
type stallingGreeter struct {
	rpclabv1.UnimplementedGreeterServer
	calls, from atomic.Int64
	released    chan struct{}
}

func (g *stallingGreeter) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if g.calls.Add(1) > g.from.Load() {
		<-g.released
	}
	return &rpclabv1.HelloReply{}, nil
}

// A server that stalls near the end of a load answers the last calls after it. That time is not part of
// the rate.
func TestAStallNearTheEndIsDrainAndNotRate(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"open loop for a time":       func(s *Settings) { s.Rate, s.Duration = 1000, 500*time.Millisecond },
		"open loop of so many calls": func(s *Settings) { s.Rate, s.Calls = 1000, 500 },
		"stages":                     func(s *Settings) { s.Stages = "0s:1000,500ms:1000" },
		"closed loop": func(s *Settings) {
			s.Concurrency, s.Think, s.Duration = 100, 100*time.Millisecond, 500*time.Millisecond
		},
	} {
		server := &stallingGreeter{released: make(chan struct{})}
		server.from.Store(300)
		s := validSettings()
		s.Target, s.MaxInFlight, s.Proto = serve(t, server), 1000, "../../api/rpclab/v1/greeter.proto"
		change(&s)
		time.AfterFunc(3*time.Second, func() { close(server.released) })
		arm := run(t, s).Arms[0]
		if arm.Window == nil {
			t.Errorf("%s: no window, want 500 ms", name)
			continue
		}
		// Without a busy machine 300 calls are answered in the window. Over the time until the last answer
		// there would be at most 167 calls/s.
		if arm.Window.LengthMS != 500 || arm.Window.DrainMS < 1500 || arm.Rate < 250 || arm.Rate > 600 || arm.Answered() != arm.Rate {
			t.Errorf("%s: %d calls, %g calls/s, %+v; want 600 calls/s in 500 ms and about 2.5 s of drain", name, arm.Calls, arm.Rate, *arm.Window)
		}
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
