package caller_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sleep(ctx context.Context, duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
}

func answerAfter(service time.Duration) caller.CallFunc {
	return func(ctx context.Context, _ uint64) caller.Outcome {
		sleep(ctx, service)
		return caller.Outcome{Backend: "b", Code: measure.OK}
	}
}

func runSync(t *testing.T, plan pace.Pace, do caller.CallFunc) measure.Measurement {
	t.Helper()
	recorder, _ := caller.Run(t.Context(), plan, measure.StartSignal{}, 0, do)
	measurement, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return measurement
}

func TestEveryCallOfAPaceIsMadeOnce(t *testing.T) {
	for name, plan := range map[string]pace.Pace{
		"sequence": pace.Sequence(100),
		"burst":    pace.Burst{Calls: 100},
		"closed":   pace.Closed{Users: 7, Calls: 100},
		"rate":     pace.Rate{PerSecond: 1000, Duration: 100 * time.Millisecond, Max: 100},
		"poisson":  pace.Rate{PerSecond: 1000, Duration: time.Second, Max: 2000, Poisson: true, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			want := uint64(100)
			if name == "poisson" {
				want = poissonCalls(plan)
			}
			var seen atomic.Uint64
			got := runSync(t, plan, func(_ context.Context, n uint64) caller.Outcome {
				seen.Add(n + 1)
				return caller.Outcome{Backend: "b", Code: measure.OK}
			})
			if got.Calls != want || got.Dropped != 0 || seen.Load() != want*(want+1)/2 {
				t.Errorf("%d calls made, %d dropped, their numbers add up to %d; want the numbers 0 to %d-1 once each", got.Calls, got.Dropped, seen.Load(), want)
			}
		})
	}
}

func poissonCalls(p pace.Pace) (n uint64) {
	for due, more := p.Next(0, 0); more; due, more = p.Next(n, due) {
		n++
	}
	return n
}

func TestAnOpenLoopMeasuresAStallThatAClosedLoopHides(t *testing.T) {
	const stall = 200 * time.Millisecond
	stallOnce := func() caller.CallFunc {
		var server = make(chan struct{}, 1) // one call at a time, so that a stall delays all others
		server <- struct{}{}
		var stalled atomic.Bool
		return func(ctx context.Context, n uint64) caller.Outcome {
			<-server
			if n >= 20 && stalled.CompareAndSwap(false, true) {
				sleep(ctx, stall)
			}
			server <- struct{}{}
			return caller.Outcome{Backend: "b", Code: measure.OK}
		}
	}
	open := runSync(t, pace.Rate{PerSecond: 200, Duration: 400 * time.Millisecond, Max: 1000}, stallOnce())
	closed := runSync(t, pace.Closed{Users: 1, Think: 5 * time.Millisecond, Duration: 400 * time.Millisecond}, stallOnce())
	// 40 of 80 calls are due during the stall, evenly: a quarter waits 100 ms or more.
	if p75 := latency(t, open, 75); p75 < 80*time.Millisecond {
		t.Errorf("open loop: p75 is %v, want about 100ms", p75)
	}
	if p75 := latency(t, closed, 75); p75 > 80*time.Millisecond {
		t.Errorf("closed loop: p75 is %v, want less than 80ms: only one of about 40 calls meets the stall", p75)
	}
}

func latency(t *testing.T, m measure.Measurement, percentile float64) time.Duration {
	histogram, err := hdr.Decode([]byte(m.Latency))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(histogram.ValueAtQuantile(percentile))
}

func TestNoCallIsSentBeforeItIsDue(t *testing.T) {
	const service = 5 * time.Millisecond
	m := runSync(t, pace.Rate{PerSecond: 1000, Duration: 200 * time.Millisecond, Max: 100}, answerAfter(service))
	if fastest := latency(t, m, 0); fastest < service {
		t.Errorf("a call that takes %v was answered %v after it was due, want at least %v", service, fastest, service)
	}
}

// rateWithEnd calls ended when no more calls are due.
type rateWithEnd struct {
	pace.Rate
	ended func()
}

func (r rateWithEnd) Next(n uint64, before time.Duration) (time.Duration, bool) {
	due, more := r.Rate.Next(n, before)
	if !more {
		r.ended()
	}
	return due, more
}

func TestCallsOverTheInFlightLimitAreDroppedAndCounted(t *testing.T) {
	release := make(chan struct{})
	m := runSync(t, rateWithEnd{pace.Rate{PerSecond: 1000, Duration: 50 * time.Millisecond, Max: 10}, func() { close(release) }},
		func(context.Context, uint64) caller.Outcome {
			<-release
			return caller.Outcome{Backend: "b", Code: measure.OK}
		})
	if m.Calls != 10 || m.Dropped != 40 {
		t.Errorf("%d calls made and %d dropped, want 10 and 40", m.Calls, m.Dropped)
	}
}

func TestAnInterruptEndsTheLoadAndKeepsItsMeasurement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Uint64
	recorder, _ := caller.Run(ctx, pace.Closed{Users: 2, Duration: time.Hour}, measure.StartSignal{}, 0,
		func(ctx context.Context, _ uint64) caller.Outcome {
			if calls.Add(1) == 10 {
				cancel()
			}
			return caller.Outcome{Backend: "b", Code: measure.OK}
		})
	m, err := recorder.Measurement()
	if err != nil || m.Calls < 10 || m.Calls > 12 {
		t.Errorf("the measurement has %d calls, %v; want 10 to 12", m.Calls, err)
	}
}

func TestStatusCodesHaveTheNamesOfTheGRPCSpecification(t *testing.T) {
	for want, err := range map[string]error{
		"OK":                 nil,
		"DEADLINE_EXCEEDED":  status.Error(codes.DeadlineExceeded, ""),
		"CANCELLED":          status.Error(codes.Canceled, ""),
		"UNAVAILABLE":        status.Error(codes.Unavailable, ""),
		"RESOURCE_EXHAUSTED": status.Error(codes.ResourceExhausted, ""),
		"UNKNOWN":            errors.New("no status"),
	} {
		if got := caller.Code(err); got != want {
			t.Errorf("the code of %v is %s, want %s", err, got, want)
		}
	}
}
