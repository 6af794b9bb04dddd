package verdict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const tick = 100 * time.Millisecond

// series returns n intervals of before calls, followed by intervals of later calls.
func series(total, n int, before, later uint64) []uint64 {
	s := make([]uint64, total)
	for i := range s {
		s[i] = later
		if i < n {
			s[i] = before
		}
	}
	return s
}

func TestRestored(t *testing.T) {
	two := []string{"a", "b"}
	// joins is a timeline of 60 intervals in which b joins a at the given one.
	joins := func(at int) Timeline {
		return Timeline{tick, map[string][]uint64{"a": series(60, at, 40, 20), "b": series(60, at, 0, 20)}}
	}
	flapping := joins(10)
	for i := 25; i < 40; i++ {
		flapping.Calls["a"][i], flapping.Calls["b"][i] = 40, 0
	}
	stray := joins(10)
	stray.Calls["gone"] = series(60, 30, 20, 0)
	stalled := joins(10)
	for i := 10; i < 30; i++ {
		stalled.Calls["a"][i], stalled.Calls["b"][i] = 0, 0
	}
	for name, c := range map[string]struct {
		line Timeline
		d    Disturbance
		want Restoration
	}{
		"in the middle":             {joins(20), Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two}, Restoration{Took: time.Second, OK: true}},
		"at once":                   {joins(10), Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two}, Restoration{OK: true}},
		"the event in mid-interval": {joins(20), Disturbance{At: 1050 * time.Millisecond, Until: 6 * time.Second, Ready: two}, Restoration{Took: 950 * time.Millisecond, OK: true}},
		"lost again within the hold": {flapping, Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two},
			Restoration{Took: 3000 * time.Millisecond, OK: true}},
		"calls to a backend that is gone": {stray, Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two},
			Restoration{Took: 2000 * time.Millisecond, OK: true}},
		"no calls are not balance": {stalled, Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two},
			Restoration{Took: 1100 * time.Millisecond, OK: true}},
		"just one window left": {joins(10), Disturbance{At: time.Second, Until: 2 * time.Second, Ready: two}, Restoration{OK: true}},
		"no window left": {joins(10), Disturbance{At: time.Second, Until: 1900 * time.Millisecond, Ready: two},
			Restoration{Reason: "the next event, or the end of the load, came within 1 s", Cause: Cause{Kind: CauseTime}}},
		"the timeline ends first": {joins(10), Disturbance{At: 5500 * time.Millisecond, Until: time.Minute, Ready: two},
			Restoration{Reason: "the next event, or the end of the load, came within 1 s", Cause: Cause{Kind: CauseTime}}},
		"never": {joins(60), Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two},
			Restoration{Reason: "Jain's index stayed under 0.95 until the next event or the end", Cause: Cause{Kind: CauseUneven}}},
		"never, at a low rate": {Timeline{tick, map[string][]uint64{"a": series(60, 0, 0, 4), "b": series(60, 0, 0, 1)}},
			Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two},
			Restoration{Reason: "25 calls per backend in 1 s are too few to tell balance from chance; 103 are enough",
				Cause: Cause{Kind: CauseCalls, Have: 25, Needed: 103}}},
		"turns, at a low rate": {Timeline{tick, map[string][]uint64{"a": series(60, 0, 0, 1), "b": series(60, 0, 0, 1)}},
			Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two}, Restoration{OK: true}},
		"a backend that is not in the timeline": {joins(10), Disturbance{At: time.Second, Until: 6 * time.Second, Ready: []string{"a", "b", "c"}},
			Restoration{Reason: "Jain's index stayed under 0.95 until the next event or the end", Cause: Cause{Kind: CauseUneven}}},
		"one backend":   {joins(60), Disturbance{At: time.Second, Until: 6 * time.Second, Ready: two[:1]}, Restoration{OK: true}},
		"none ready":    {joins(10), Disturbance{At: time.Second, Until: 6 * time.Second}, Restoration{Reason: "no backend is ready", Cause: Cause{Kind: CauseBackends}}},
		"no interval":   {Timeline{}, Disturbance{Ready: two}, Restoration{Reason: "intervals of 0s do not fit a window of 1s", Cause: Cause{Kind: CauseWindow}}},
		"wide interval": {Timeline{Width: time.Minute}, Disturbance{Ready: two}, Restoration{Reason: "intervals of 1m0s do not fit a window of 1s", Cause: Cause{Kind: CauseWindow}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Restored(c.line, c.d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The time found must satisfy the definition, and no earlier time may.
func TestRestoredReturnsTheEarliestTime(t *testing.T) {
	count := rapid.SampledFrom([]uint64{10, 10, 11, 9, 10, 12, 10, 25})
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		ready := []string{"a", "b", "c"}
		line := Timeline{Width: tick, Calls: map[string][]uint64{}}
		for _, id := range append(ready, "gone") {
			line.Calls[id] = rapid.SliceOfN(count, 30, 50).Draw(t, id)
		}
		line.Calls["gone"] = make([]uint64, len(line.Calls["gone"]))
		d := Disturbance{At: time.Second, Until: 5 * time.Second, Ready: ready, Window: 300 * time.Millisecond, Hold: 500 * time.Millisecond}
		end := 0
		for _, s := range line.Calls {
			end = min(50, max(end, len(s)))
		}
		even := func(i int) bool {
			var counts []uint64
			for _, id := range ready {
				s := line.Calls[id]
				counts = append(counts, sum(s[min(i, len(s)):min(i+3, len(s))]))
			}
			return sum(counts) >= 30 && jain(counts) >= 0.95
		}
		want := Restoration{}
		for i := 10; i+3 <= end && !want.OK; i++ {
			holds := true
			for j := i; j <= i+5 && j+3 <= end; j++ {
				holds = holds && even(j)
			}
			if holds {
				want = Restoration{Took: time.Duration(i-10) * tick, OK: true}
			}
		}
		got := Restored(line, d)
		seen[got.OK && got.Took > 0]++
		if !got.OK && got.Reason == "" {
			t.Fatal("balance was not restored and the reason is empty")
		}
		got.Reason, got.Cause = "", Cause{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("the random timelines have only one outcome: %v", seen)
	}
}
