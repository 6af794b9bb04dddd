package measure

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// seconds returns how many seconds of a load pass until it counts as steady, at most limit.
func seconds(limit int, second func(n int) (rate float64, median time.Duration)) int {
	var steady Steady
	for n := range limit {
		if steady.Add(second(n)) {
			return n + 1
		}
	}
	return limit
}

func TestAConstantLoadIsSteadyAfterSixSeconds(t *testing.T) {
	if got := seconds(60, func(int) (float64, time.Duration) { return 1000, 2 * time.Millisecond }); got != 6 {
		t.Errorf("steady after %d s, want 6", got)
	}
}

func TestALoadThatBecomesFasterIsNotSteady(t *testing.T) {
	// A rate that approaches 2,500/s as a virtual machine compiles its code: 95 % of it after 15 s.
	rate := func(n int) float64 { return 2500 * (1 - 0.65*math.Exp(-float64(n)/5)) }
	got := seconds(60, func(n int) (float64, time.Duration) {
		return rate(n), time.Duration(50 / rate(n) * float64(time.Second))
	})
	if got < 10 || got > 30 {
		t.Errorf("steady after %d s, want 10 to 30", got)
	}
	if r := rate(got - 1); r < 2300 {
		t.Errorf("steady at %.0f calls/s of 2,500", r)
	}
}

func TestANoisyLoadIsSteadySoon(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	slow := 0
	for range 1000 {
		if seconds(60, func(int) (float64, time.Duration) {
			return 1000 * math.Exp(0.1*random.NormFloat64()), time.Duration(2e6 * math.Exp(0.1*random.NormFloat64()))
		}) > 20 {
			slow++
		}
	}
	if slow > 50 {
		t.Errorf("%d of 1,000 loads with 10 %% of noise were not steady within 20 s", slow)
	}
}

func TestALoadWithoutAnswersIsNotSteady(t *testing.T) {
	if got := seconds(30, func(int) (float64, time.Duration) { return 0, 0 }); got != 30 {
		t.Errorf("steady after %d s without an answer", got)
	}
	got := seconds(30, func(n int) (float64, time.Duration) {
		if n < 10 {
			return 0, 0
		}
		return 100, time.Millisecond
	})
	if got != 16 {
		t.Errorf("steady after %d s, want 6 s after the first answers, which came after 10 s", got)
	}
}

// together returns the seconds of a load of users who all call at once: each has a call of a duration that
// depends on when it began.
func together(users float64, duration func(began time.Duration) time.Duration) func(n int) (rate float64, median time.Duration) {
	ends, lasted := map[int]float64{}, map[int]time.Duration{}
	for at := time.Duration(0); at < time.Hour; {
		took := duration(at)
		at += took
		second := int(at / time.Second)
		ends[second] += users
		lasted[second] = took
	}
	return func(n int) (float64, time.Duration) { return ends[n], lasted[n] }
}

func TestALoadOfLongCallsIsSteady(t *testing.T) {
	for _, lasts := range []time.Duration{1100 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 7 * time.Second} {
		got := seconds(1000, together(10, func(time.Duration) time.Duration { return lasts }))
		if least, most := 6*lasts, 16*lasts; time.Duration(got)*time.Second < least || time.Duration(got)*time.Second > most {
			t.Errorf("calls of %v are steady after %d s, want %v to %v", lasts, got, least, most)
		}
	}
}

func TestALoadOfLongCallsThatBecomeFasterIsNotSteady(t *testing.T) {
	const compiling = time.Minute
	got := seconds(1000, together(10, func(began time.Duration) time.Duration {
		return max(2*time.Second, 8*time.Second-time.Duration(float64(6*time.Second)*float64(began)/float64(compiling)))
	}))
	if got < 55 || got > 100 {
		t.Errorf("steady after %d s, want 60 s or some more, when calls have become faster", got)
	}
}

func TestALoadOfFewCallsIsSteady(t *testing.T) {
	got := seconds(1000, func(n int) (float64, time.Duration) { // a call of 10 ms each third second
		if n%3 == 0 {
			return 1, 10 * time.Millisecond
		}
		return 0, 0
	})
	if got < 18 || got > 24 {
		t.Errorf("steady after %d s, want six windows of 3 s", got)
	}
}

func TestALoadKnowsHowLongItsWarmUpMustBe(t *testing.T) {
	var steady Steady
	if needs := steady.Needs(); needs != 6*time.Second {
		t.Errorf("a load without answers needs %v, want 6 s", needs)
	}
	for range 9 {
		steady.Add(0, 0)
	}
	for range 6 {
		steady.Add(1, 9500*time.Millisecond)
	}
	if needs := steady.Needs(); needs != 69*time.Second {
		t.Errorf("calls of 9.5 s, the first answered after 9 s, need %v, want 9 s and six windows of 10 s", needs)
	}
}
