package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// seconds returns how many seconds of a load pass until it counts as steady, at most limit.
func seconds(limit int, second func(n int) (rate, median float64)) int {
	var steady Steady
	for n := range limit {
		if steady.Add(second(n)) {
			return n + 1
		}
	}
	return limit
}

func TestAConstantLoadIsSteadyAfterSixSeconds(t *testing.T) {
	if got := seconds(60, func(int) (float64, float64) { return 1000, 2 }); got != 6 {
		t.Errorf("steady after %d s, want 6", got)
	}
}

func TestALoadThatBecomesFasterIsNotSteady(t *testing.T) {
	// A rate that approaches 2,500/s as a virtual machine compiles its code: 95 % of it after 15 s.
	rate := func(n int) float64 { return 2500 * (1 - 0.65*math.Exp(-float64(n)/5)) }
	got := seconds(60, func(n int) (float64, float64) { return rate(n), 50_000 / rate(n) })
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
		if seconds(60, func(int) (float64, float64) {
			return 1000 * math.Exp(0.1*random.NormFloat64()), 2 * math.Exp(0.1*random.NormFloat64())
		}) > 20 {
			slow++
		}
	}
	if slow > 50 {
		t.Errorf("%d of 1,000 loads with 10 %% of noise were not steady within 20 s", slow)
	}
}

func TestALoadWithoutAnswersIsNotSteady(t *testing.T) {
	if got := seconds(30, func(int) (float64, float64) { return 0, 0 }); got != 30 {
		t.Errorf("steady after %d s without an answer", got)
	}
	got := seconds(30, func(n int) (float64, float64) {
		if n < 10 {
			return 0, 0
		}
		return 100, 1
	})
	if got != 16 {
		t.Errorf("steady after %d s, want 6 s after the first answers, which came after 10 s", got)
	}
}
