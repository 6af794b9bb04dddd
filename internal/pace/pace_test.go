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

// dues returns when the calls of a pace are due. It plays one user, whose calls are answered after service.
func dues(plan pace.Pace, service time.Duration) []time.Duration {
	var all []time.Duration
	var after time.Duration
	for n := uint64(0); ; n++ {
		due, more := plan.Next(n, after)
		if !more {
			return all
		}
		all = append(all, due)
		after = due
		if !plan.Open() {
			after += service
		}
	}
}

func TestASequenceSendsTheNextCallAfterEachAnswer(t *testing.T) {
	got := dues(pace.Sequence(3), 7*time.Millisecond)
	want := []time.Duration{0, 7 * time.Millisecond, 14 * time.Millisecond}
	equal(t, got, want)
}

func TestAllCallsOfABurstAreDueAtTheStart(t *testing.T) {
	equal(t, dues(pace.Burst{Calls: 3}, time.Second), []time.Duration{0, 0, 0})
	if got := (pace.Burst{Calls: 3}).InFlight(); got != 3 {
		t.Errorf("a burst of 3 calls has %d calls in flight, want 3", got)
	}
}

func TestAClosedLoopWaitsTheThinkTimeAndEndsAtItsDuration(t *testing.T) {
	p := pace.Closed{Users: 1, Think: 10 * time.Millisecond, Duration: 45 * time.Millisecond}
	got := dues(p, 5*time.Millisecond)
	equal(t, got, []time.Duration{0, 15 * time.Millisecond, 30 * time.Millisecond})
}

func TestAClosedLoopWithoutALimitHasNoCalls(t *testing.T) {
	if _, more := (pace.Closed{Users: 1}).Next(0, 0); more {
		t.Error("a closed loop with neither duration nor calls has a first call, want none: it would never end")
	}
}

func TestAConstantRateDoesNotDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 2e6).Draw(t, "rate")
		n := rapid.Uint64Range(0, 1e9).Draw(t, "n")
		due, _ := pace.Rate{PerSecond: rate, Duration: math.MaxInt64}.Next(n, 0)
		if want := float64(n) / rate; math.Abs(due.Seconds()-want) > 1e-9+want*1e-12 {
			t.Fatalf("call %d at %g/s is due at %v, want %gs", n, rate, due, want)
		}
	})
}

func TestAConstantRateLastsItsWholeDuration(t *testing.T) {
	got := dues(pace.Rate{PerSecond: 500, Duration: 2 * time.Second}, 0)
	if len(got) != 1000 || got[999] != 1998*time.Millisecond {
		t.Errorf("500 calls/s for 2s: %d calls, the last due at %v; want 1000, the last due at 1.998s", len(got), got[len(got)-1])
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	const rate, calls = 1000.0, 200_000
	poisson := pace.Rate{PerSecond: rate, Duration: time.Hour, Poisson: true, Seed: 7}
	var before time.Duration
	var sum, squares float64
	for n := range uint64(calls) {
		due, _ := poisson.Next(n, before)
		gap := (due - before).Seconds() * rate
		sum, squares, before = sum+gap, squares+gap*gap, due
	}
	mean := sum / calls
	variance := squares/calls - mean*mean
	if math.Abs(mean-1) > 0.01 || math.Abs(variance-1) > 0.03 {
		t.Errorf("gaps have mean %.3f and variance %.3f, want 1 and 1 as of an exponential distribution", mean, variance)
	}
}

func TestPoissonArrivalsDependOnTheSeedOnly(t *testing.T) {
	first := pace.Rate{PerSecond: 100, Duration: time.Second, Poisson: true, Seed: 1}
	equal(t, dues(first, 0), dues(first, time.Second))
	second := first
	second.Seed = 2
	if a, b := dues(first, 0), dues(second, 0); len(a) == len(b) && a[0] == b[0] {
		t.Error("seeds 1 and 2 have the same first arrival and number of calls, want different ones")
	}
}

func TestASpecMustSetAPace(t *testing.T) {
	if _, err := (pace.Spec{}).Pace(); err == nil {
		t.Error("an empty spec has a pace, want an error")
	}
	p, err := pace.Spec{Burst: &pace.Burst{Calls: 2}}.Pace()
	if err != nil || p.InFlight() != 2 {
		t.Errorf("a burst of 2 calls is %v, %v; want 2 calls in flight", p, err)
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

func TestUsersStartEvenlyOverTheRamp(t *testing.T) {
	closed := pace.Closed{Users: 4, Ramp: 2 * time.Second, Think: time.Second, Duration: 10 * time.Second}
	for user, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		if due, more := closed.Next(uint64(user), closed.First(user)); due != want || !more {
			t.Errorf("user %d starts at %v, %t; want %v, true", user, due, more, want)
		}
	}
	if due, _ := closed.Next(4, 1700*time.Millisecond); due != 2700*time.Millisecond {
		t.Errorf("a user whose first answer came at 1.7s calls again at %v, want 2.7s: the think time is 1s", due)
	}
	late := pace.Closed{Users: 4, Ramp: 2 * time.Second, Duration: time.Second}
	if _, more := late.Next(3, late.First(3)); more {
		t.Error("a user starts after the end of the load, want none")
	}
}

func TestARateThatIsTooLowHasNoSecondCall(t *testing.T) {
	if due, more := (pace.Rate{PerSecond: 1e-10, Duration: 10 * time.Second}).Next(1, 0); more {
		t.Errorf("a second call is due at %v, want none", due)
	}
}
