package pace_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rpclab/internal/pace"
)

func stages(all ...pace.Stage) pace.Stages { return pace.Stages{Stages: all, Max: 10} }

func TestAStepHoldsItsRate(t *testing.T) {
	p := stages(pace.Stage{Rate: 500}, pace.Stage{Duration: 2 * time.Second, Rate: 500})
	rate := pace.Rate{PerSecond: 500, Duration: 2 * time.Second, Max: 10}
	got, want := dues(p, 0), dues(rate, 0)
	if len(got) != len(want) {
		t.Fatalf("%d calls, want those of a constant rate: %d", len(got), len(want))
	}
	for n := range got {
		if math.Abs((got[n] - want[n]).Seconds()) > 2e-9 {
			t.Errorf("call %d is due at %v, want %v", n, got[n], want[n])
		}
	}
}

func TestARampMakesHalfTheCallsOfItsEnd(t *testing.T) {
	got := dues(stages(pace.Stage{Duration: 10 * time.Second, Rate: 100}), 0)
	if len(got) != 500 || got[0] != 0 {
		t.Fatalf("%d calls, the first at %v; 10s up to 100/s has 500, from 0", len(got), got[0])
	}
	// The area under the ramp is 5t²: call 125 is due at 5s.
	if at := got[125]; (at - 5*time.Second).Abs() > time.Microsecond {
		t.Errorf("call 125 is due at %v, want 5s", at)
	}
}

func TestARampDownEndsAtItsLastCall(t *testing.T) {
	got := dues(stages(pace.Stage{Rate: 100}, pace.Stage{Duration: 2 * time.Second}), 0)
	if len(got) != 100 || got[99] >= 2*time.Second {
		t.Errorf("%d calls, the last at %v", len(got), got[len(got)-1])
	}
}

func TestAPauseHasNoCalls(t *testing.T) {
	p := stages(pace.Stage{Rate: 10}, pace.Stage{Duration: time.Second, Rate: 10},
		pace.Stage{}, pace.Stage{Duration: 3 * time.Second}, pace.Stage{Rate: 10}, pace.Stage{Duration: time.Second, Rate: 10})
	got := dues(p, 0)
	if len(got) != 20 || got[9] != 900*time.Millisecond || got[10] != 4*time.Second {
		t.Errorf("%d calls: %v", len(got), got)
	}
	if p.Duration() != 5*time.Second {
		t.Errorf("all stages take %v", p.Duration())
	}
	if first := dues(stages(pace.Stage{Duration: time.Second}), 0); len(first) != 0 {
		t.Errorf("a pause alone has %d calls", len(first))
	}
}

func TestCallsFollowTheAreaUnderTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace.Stages
		for range rapid.IntRange(1, 5).Draw(t, "stages") {
			p.Stages = append(p.Stages, pace.Stage{
				Duration: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "duration")),
				Rate:     rapid.Float64Range(0, 1e5).Draw(t, "rate"),
			})
		}
		whole := p.Area(p.Duration())
		n := uint64(rapid.Float64Range(0, whole).Draw(t, "n"))
		due, more := p.Next(n, 0)
		if float64(n) >= whole-1e-6 {
			return // at the very end rounding decides
		}
		if !more || due < 0 || due > p.Duration() {
			t.Fatalf("call %d of %.1f is due at %v, %v", n, whole, due, more)
		}
		if got := p.Area(due); math.Abs(got-float64(n)) > 1e-3+whole*1e-9 {
			t.Fatalf("call %d is due where the area is %g", n, got)
		}
	})
}

func TestRandomArrivalsFollowTheRamp(t *testing.T) {
	p := stages(pace.Stage{Duration: 10 * time.Second, Rate: 4000})
	p.Poisson, p.Seed = true, 5
	got := dues(p, 0)
	early := 0
	for _, due := range got {
		if due < 5*time.Second {
			early++
		}
	}
	// 20,000 in all and a quarter of them in the first half, within 4 standard deviations.
	if math.Abs(float64(len(got))-20_000) > 4*math.Sqrt(20_000) || math.Abs(float64(early)-5000) > 4*math.Sqrt(5000) {
		t.Errorf("%d calls, %d of them in the first half", len(got), early)
	}
	q := p
	q.Seed = 6
	if other := dues(q, 0); other[0] == got[0] {
		t.Error("two seeds gave the same arrivals")
	}
}
