package pace_test

import (
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"rpclab/internal/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dues plays a pace with answers that take service each, one user at a time.
func dues(p pace.Pace, service time.Duration) []time.Duration {
	var all []time.Duration
	var after time.Duration
	for n := uint64(0); ; n++ {
		due, more := p.Next(n, after)
		if !more {
			return all
		}
		all = append(all, due)
		after = due
		if !p.Open() {
			after += service
		}
	}
}

func TestSequenceIsDueAnswerByAnswer(t *testing.T) {
	got := dues(pace.Sequence(3), 7*time.Millisecond)
	want := []time.Duration{0, 7 * time.Millisecond, 14 * time.Millisecond}
	equal(t, got, want)
}

func TestBurstIsDueAtOnce(t *testing.T) {
	equal(t, dues(pace.Burst{Calls: 3}, time.Second), []time.Duration{0, 0, 0})
	if got := (pace.Burst{Calls: 3}).InFlight(); got != 3 {
		t.Errorf("a burst of 3 holds %d in flight", got)
	}
}

func TestClosedThinksBetweenCallsAndEndsInTime(t *testing.T) {
	p := pace.Closed{Users: 1, Think: 10 * time.Millisecond, Duration: 45 * time.Millisecond}
	got := dues(p, 5*time.Millisecond)
	equal(t, got, []time.Duration{0, 15 * time.Millisecond, 30 * time.Millisecond})
}

func TestClosedWithoutEndNeverStarts(t *testing.T) {
	if _, more := (pace.Closed{Users: 1}).Next(0, 0); more {
		t.Error("a closed load with neither duration nor calls must not run for ever")
	}
}

func TestConstantRateDoesNotDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 2e6).Draw(t, "rate")
		n := rapid.Uint64Range(0, 1e9).Draw(t, "n")
		due, _ := pace.Rate{PerSecond: rate, Duration: math.MaxInt64}.Next(n, 0)
		if want := float64(n) / rate; math.Abs(due.Seconds()-want) > 1e-9+want*1e-12 {
			t.Fatalf("call %d at %g/s is due at %v, want %gs", n, rate, due, want)
		}
	})
}

func TestConstantRateCoversItsDuration(t *testing.T) {
	got := dues(pace.Rate{PerSecond: 500, Duration: 2 * time.Second}, 0)
	if len(got) != 1000 || got[999] != 1998*time.Millisecond {
		t.Errorf("500/s for 2s gave %d calls, the last at %v", len(got), got[len(got)-1])
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	const rate, calls = 1000.0, 200_000
	p := pace.Rate{PerSecond: rate, Duration: time.Hour, Poisson: true, Seed: 7}
	var before time.Duration
	var sum, squares float64
	for n := range uint64(calls) {
		due, _ := p.Next(n, before)
		gap := (due - before).Seconds() * rate
		sum, squares, before = sum+gap, squares+gap*gap, due
	}
	mean := sum / calls
	variance := squares/calls - mean*mean
	if math.Abs(mean-1) > 0.01 || math.Abs(variance-1) > 0.03 {
		t.Errorf("gaps have mean %.3f and variance %.3f; exponential ones have 1 and 1", mean, variance)
	}
}

func TestPoissonIsTheSeedsAlone(t *testing.T) {
	p := pace.Rate{PerSecond: 100, Duration: time.Second, Poisson: true, Seed: 1}
	equal(t, dues(p, 0), dues(p, time.Second))
	q := p
	q.Seed = 2
	if a, b := dues(p, 0), dues(q, 0); len(a) == len(b) && a[0] == b[0] {
		t.Error("two seeds gave the same arrivals")
	}
}

func TestSpecNamesOnePace(t *testing.T) {
	if _, err := (pace.Spec{}).Pace(); err == nil {
		t.Error("an empty spec must be an error")
	}
	p, err := pace.Spec{Burst: &pace.Burst{Calls: 2}}.Pace()
	if err != nil || p.InFlight() != 2 {
		t.Errorf("got %v, %v", p, err)
	}
}

func equal(t *testing.T, got, want []time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d calls %v, want %v", len(got), got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("call %d is due at %v, want %v", i, got[i], want[i])
		}
	}
}

func TestUsersBeginEvenlyOverTheRamp(t *testing.T) {
	p := pace.Closed{Users: 4, Ramp: 2 * time.Second, Think: time.Second, Duration: 10 * time.Second}
	for user, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		if due, more := p.Next(uint64(user), p.First(user)); due != want || !more {
			t.Errorf("user %d begins at %v, %t; want %v", user, due, more, want)
		}
	}
	if due, _ := p.Next(4, 1700*time.Millisecond); due != 2700*time.Millisecond {
		t.Errorf("after his first answer a user thinks: %v", due)
	}
	late := pace.Closed{Users: 4, Ramp: 2 * time.Second, Duration: time.Second}
	if _, more := late.Next(3, late.First(3)); more {
		t.Error("a user begins after the end")
	}
}
