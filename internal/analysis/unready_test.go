package analysis

import (
	"math"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// A client that ignores health calls a backend all the time, also while it is not ready. It discovers nothing when the backend
// is ready again, so its next call, perhaps before that, is no first call.
func TestACallThatNeverEndedIsNoFirstCall(t *testing.T) {
	const end = 9 * time.Second
	history := []cluster.Snapshot{set(began, "b0", "b1"), set(after(2*time.Second), "b1"), set(after(5350*time.Millisecond), "b0", "b1")}
	events := []PerformedEvent{
		{Event: experiment.Event{Flap: &experiment.Flap{}}, Time: after(2 * time.Second), Backends: []string{"b0"}},
		{Event: experiment.Event{Recover: true}, Time: after(5 * time.Second)},
	}
	between := func(from, to time.Duration) []uint64 { return append(line(from, to, 5), line(0, end-to, 0)...) }
	stopped := between(0, 2300*time.Millisecond)
	again := line(5400*time.Millisecond, end, 5)
	both := make([]uint64, len(again))
	for i := range both {
		both[i] = again[i]
		if i < len(stopped) {
			both[i] += stopped[i]
		}
	}
	for name, c := range map[string]struct {
		answered, due []uint64
		unready       bool
		first         float64 // ms; 0: none
		followed      float64
	}{
		"it never stopped":                  {line(0, end, 5), line(0, end, 5), true, 0, math.NaN()},
		"it stopped and came back":          {both, both, false, 500, 500},
		"it never came back":                {stopped, stopped, false, 0, math.Inf(1)},
		"late answers of calls before that": {append(between(0, 5200*time.Millisecond)[:52], again[52:]...), both, false, 500, 500},
		"its calls waited for the backend":  {both, line(0, end, 5), false, 500, 500},
	} {
		seen := measure.Measurement{Started: began, Elapsed: end, FirstResponse: map[string]time.Duration{"b0": 0, "b1": 0},
			Timeline: measure.Timeline{Backends: map[string][]uint64{"b0": c.answered, "b1": line(0, end, 5)}, Due: map[string][]uint64{"b0": c.due, "b1": line(0, end, 5)}}}
		got := outcomes(events, seen, history)[1]
		first := 0.0
		if got.Took.FirstCall != nil {
			first = *got.Took.FirstCall
		}
		if got.Added != 1 || got.CalledUnready != c.unready || first != c.first {
			t.Errorf("%s: %d added, called while not ready %v, first call %g; want 1, %v, %g", name, got.Added, got.CalledUnready, first, c.unready, c.first)
		}
		if f := followed(result.Trial{Events: []result.Event{got}}); f != c.followed && !(math.IsNaN(f) && math.IsNaN(c.followed)) {
			t.Errorf("%s: followed is %g, want %g", name, f, c.followed)
		}
	}
}
