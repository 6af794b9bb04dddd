package pace_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rpclab/internal/pace"
)

func stages(all ...pace.Stage) pace.Stages { return pace.Stages{Stages: all, Max: 10} }

func TestAStageWithoutARampIsAConstantRate(t *testing.T) {
	p := stages(pace.Stage{Rate: 500}, pace.Stage{Duration: 2 * time.Second, Rate: 500})
	rate := pace.Rate{PerSecond: 500, Duration: 2 * time.Second, Max: 10}
	got, want := dues(p, 0), dues(rate, 0)
	if len(got) != len(want) {
		t.Fatalf("%d calls, want %d as of a constant rate", len(got), len(want))
	}
	for n := range got {
		if math.Abs((got[n] - want[n]).Seconds()) > 2e-9 {
			t.Errorf("call %d is due at %v, want %v", n, got[n], want[n])
		}
	}
}

func TestARampFromZeroHasHalfTheCallsOfItsFinalRate(t *testing.T) {
	got := dues(stages(pace.Stage{Duration: 10 * time.Second, Rate: 100}), 0)
	if len(got) != 500 || got[0] != 0 {
		t.Fatalf("a ramp of 10s to 100 calls/s has %d calls, the first at %v; want 500, the first at 0", len(got), got[0])
	}
	// The area under the ramp is 5t²: call 125 is due at 5s.
	if at := got[125]; (at - 5*time.Second).Abs() > time.Microsecond {
		t.Errorf("call 125 is due at %v, want 5s", at)
	}
}

func TestARampDownHasHalfTheCallsOfItsFirstRate(t *testing.T) {
	got := dues(stages(pace.Stage{Rate: 100}, pace.Stage{Duration: 2 * time.Second}), 0)
	if len(got) != 100 || got[99] >= 2*time.Second {
		t.Errorf("a ramp of 2s from 100 calls/s to 0 has %d calls, the last at %v; want 100, all before 2s", len(got), got[len(got)-1])
	}
}

func TestAStageAtRateZeroHasNoCalls(t *testing.T) {
	paused := stages(pace.Stage{Rate: 10}, pace.Stage{Duration: time.Second, Rate: 10},
		pace.Stage{}, pace.Stage{Duration: 3 * time.Second}, pace.Stage{Rate: 10}, pace.Stage{Duration: time.Second, Rate: 10})
	got := dues(paused, 0)
	if len(got) != 20 || got[9] != 900*time.Millisecond || got[10] != 4*time.Second {
		t.Errorf("%d calls, due at %v; want 20, none between 0.9s and 4s", len(got), got)
	}
	if paused.Duration() != 5*time.Second {
		t.Errorf("all stages last %v, want 5s", paused.Duration())
	}
	if first := dues(stages(pace.Stage{Duration: time.Second}), 0); len(first) != 0 {
		t.Errorf("a stage at rate 0 alone has %d calls, want none", len(first))
	}
}

func TestCallsFollowTheAreaUnderTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plan pace.Stages
		for range rapid.IntRange(1, 5).Draw(t, "stages") {
			plan.Stages = append(plan.Stages, pace.Stage{
				Duration: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "duration")),
				Rate:     rapid.Float64Range(0, 1e5).Draw(t, "rate"),
			})
		}
		whole := plan.Area(plan.Duration())
		n := uint64(rapid.Float64Range(0, whole).Draw(t, "n"))
		due, more := plan.Next(n, 0)
		if float64(n) >= whole-1e-6 {
			return // rounding decides whether the last call is due
		}
		if !more || due < 0 || due > plan.Duration() {
			t.Fatalf("call %d of %.1f is due at %v, %v; want a time within %v", n, whole, due, more, plan.Duration())
		}
		if got := plan.Area(due); math.Abs(got-float64(n)) > 1e-3+whole*1e-9 {
			t.Fatalf("call %d is due at %v, where the area under the rate is %g, want %d", n, due, got, n)
		}
	})
}

func TestRandomArrivalsFollowTheRamp(t *testing.T) {
	ramp := stages(pace.Stage{Duration: 10 * time.Second, Rate: 4000})
	ramp.Poisson, ramp.Seed = true, 5
	got := dues(ramp, 0)
	early := 0
	for _, due := range got {
		if due < 5*time.Second {
			early++
		}
	}
	// 20,000 calls, of which a quarter is due in the first half, each within 4 standard deviations.
	if math.Abs(float64(len(got))-20_000) > 4*math.Sqrt(20_000) || math.Abs(float64(early)-5000) > 4*math.Sqrt(5000) {
		t.Errorf("%d calls, %d of them in the first half; want about 20,000 and 5,000", len(got), early)
	}
	reseeded := ramp
	reseeded.Seed = 6
	if other := dues(reseeded, 0); other[0] == got[0] {
		t.Error("seeds 5 and 6 have the same first arrival, want different ones")
	}
}
