package slicewatch

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestASuccessResetsTheBackOff(t *testing.T) {
	_, _, pauses := run(t,
		reply{code: 500}, reply{code: 500}, reply{code: 500}, // three pauses, growing
		list(3), events(line("BOOKMARK", slice("", 4))), // a success
		reply{code: 500}, reply{code: 500}) // anew
	if len(pauses) < 5 {
		t.Fatalf("pauses %v, want 5", pauses)
	}
	for i, want := range []time.Duration{100, 200, 400, 100, 200} {
		want *= time.Millisecond
		if d := pauses[i]; d < want*8/10 || d > want*12/10 {
			t.Errorf("pause %d is %v, want %v ± 20 %%", i, d, want)
		}
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1<<40).Draw(t, "failures")
		mid := min(float64(firstPause)*float64(uint64(1)<<min(n-1, 20)), float64(longestPause))
		if d := float64(Backoff(n)); d < mid*(1-jitter)-1 || d > mid*(1+jitter)+1 {
			t.Fatalf("after %d failures %v, want %v ± 20 %%", n, time.Duration(d), time.Duration(mid))
		}
	})
}
