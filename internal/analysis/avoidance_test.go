package analysis

import (
	"math/rand/v2"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// after2s is a timeline of calls per interval until 8 s, whose value changes at 2 s and then after the
// given numbers of intervals.
func after2s(calls uint64, then ...[2]int) (all []uint64) {
	for range 20 {
		all = append(all, calls)
	}
	for _, part := range then {
		for range part[0] {
			all = append(all, uint64(part[1]))
		}
	}
	return all
}

// An event at 2.03 s affects b0, of b0, b1 and b2.
func TestAvoidedIsWhenCallersStopCallingTheAffectedBackends(t *testing.T) {
	fair, hangs := after2s(10, [2]int{60, 10}), after2s(10, [2]int{50, 0}, [2]int{10, 10})
	reset := experiment.Event{Cut: &experiment.Cut{Backends: 1, How: "reset"}}
	slow, kill := experiment.Event{Slow: &experiment.Slow{Backends: 1}}, experiment.Event{Kill: 1}
	for name, c := range map[string]struct {
		event  experiment.Event
		b0     []uint64
		lost   []uint64 // failed or dropped
		want   float64  // ms; 0: not avoided
		others []uint64 // each; nil: all their share
	}{
		"round robin continues":                {slow, fair, nil, 0, nil},
		"from the fifth interval on":           {slow, after2s(10, [2]int{5, 10}, [2]int{55, 1}), nil, 500, nil},
		"within the first interval":            {slow, after2s(10, [2]int{1, 10}, [2]int{59, 1}), nil, 100, nil},
		"slightly less than its share":         {slow, after2s(10, [2]int{60, 7}), nil, 0, nil},
		"avoided for five seconds":             {slow, after2s(10, [2]int{5, 10}, [2]int{50, 0}, [2]int{5, 10}), nil, 500, nil},
		"failed calls count, too":              {slow, after2s(10), after2s(0, [2]int{9, 10}, [2]int{51, 0}), 900, nil},
		"no calls before the event":            {slow, after2s(0, [2]int{60, 0}), nil, 0, nil},
		"killed: the last call that was lost":  {kill, after2s(10), after2s(0, [2]int{3, 1}, [2]int{11, 0}, [2]int{1, 1}), 1500, nil},
		"connections reset: callers reconnect": {reset, fair, after2s(0, [2]int{2, 3}, [2]int{58, 0}), 200, nil},
		"connections reset: no call was lost":  {reset, fair, nil, 100, nil},
		"every user hangs: no call was due":    {slow, hangs, nil, 0, hangs},
		"killed, and every user hangs":         {kill, hangs, nil, 0, hangs},
		"every call is dropped":                {slow, after2s(10), after2s(0, [2]int{60, 30}), 0, after2s(10)},
		"killed: every call counts":            {kill, after2s(10), after2s(0, [2]int{55, 1}), 0, nil},
	} {
		others := fair
		if c.others != nil {
			others = c.others
		}
		seen := measure.Measurement{Started: began, Elapsed: 8 * time.Second, Timeline: measure.Timeline{
			Due: map[string][]uint64{"b0": c.b0, "b1": others, "b2": others}, Lost: c.lost,
		}}
		acts := []PerformedEvent{{Event: c.event, Time: after(2030 * time.Millisecond), Backends: []string{"b0"}}}
		got := outcomes(acts, seen, []cluster.Snapshot{set(after(-time.Second), "b0", "b1", "b2")})[0]
		switch took := got.Took.Avoided; {
		case took == nil && c.want != 0:
			t.Errorf("%s: callers do not avoid the backend, want that after %g ms", name, c.want)
		case took != nil && *took != c.want:
			t.Errorf("%s: callers avoid the backend after %g ms, want %g", name, *took, c.want)
		}
		if got.CalledBefore == nil || *got.CalledBefore != (c.b0[19] > 0) {
			t.Errorf("%s: called before the event: %v, want %v", name, got.CalledBefore, c.b0[19] > 0)
		}
		if got.Ready != 3 || len(got.Affected) != 1 {
			t.Errorf("%s: %v of %d backends were affected, want b0 of 3", name, got.Affected, got.Ready)
		}
	}
}

// Callers that stop calling a killed backend show it only if calls are due for more than a second after the kill.
func TestTooLittleTimeAfterAnEventDoesNotShowWhetherCallersAvoidABackend(t *testing.T) {
	kill, slow := experiment.Event{Kill: 1}, experiment.Event{Slow: &experiment.Slow{Backends: 1}}
	for name, c := range map[string]struct {
		event  experiment.Event
		b0, b1 []uint64
		lost   []uint64
		want   bool
	}{
		"a load that ends a second later":               {kill, after2s(10), after2s(10, [2]int{10, 10}), after2s(0, [2]int{1, 9}), true},
		"calls are lost at first":                       {kill, after2s(10), after2s(10, [2]int{15, 10}), after2s(0, [2]int{8, 1}), true},
		"calls are lost until the end":                  {kill, after2s(10), after2s(10, [2]int{15, 10}), after2s(0, [2]int{15, 1}), false},
		"a longer load":                                 {kill, after2s(10), after2s(10, [2]int{60, 10}), after2s(0, [2]int{60, 1}), false},
		"a slow backend":                                {slow, after2s(10, [2]int{10, 10}), after2s(10, [2]int{10, 10}), nil, true},
		"a slow backend that keeps its calls":           {slow, after2s(10, [2]int{60, 10}), after2s(10, [2]int{60, 10}), nil, false},
		"callers stop at once, and there is time":       {kill, after2s(10), after2s(10, [2]int{12, 10}), after2s(0, [2]int{12, 0}), false},
		"a backend that callers have not called at all": {kill, nil, after2s(10, [2]int{10, 10}), nil, false},
	} {
		seen := measure.Measurement{Started: began, Elapsed: 8 * time.Second, Timeline: measure.Timeline{
			Due: map[string][]uint64{"b0": c.b0, "b1": c.b1}, Lost: c.lost,
		}}
		acts := []PerformedEvent{{Event: c.event, Time: after(2030 * time.Millisecond), Backends: []string{"b0"}}}
		got := outcomes(acts, seen, []cluster.Snapshot{set(after(-time.Second), "b0", "b1")})[0]
		if got.AvoidedUnknown != c.want {
			t.Errorf("%s: unknown is %t (avoided %v), want %t", name, got.AvoidedUnknown, got.Took.Avoided, c.want)
		}
	}
}

// A backend that gets a random fifth of its share is avoided, whatever single intervals look like.
func TestAvoidanceDoesNotDependOnChance(t *testing.T) {
	for seed := range uint64(200) {
		source := rand.New(rand.NewPCG(seed, 0))
		line := measure.Timeline{Due: map[string][]uint64{"b0": make([]uint64, 200), "b1": make([]uint64, 200)}}
		for i := range 200 {
			for range 20 {
				id, share := "b1", 0.5
				if i >= 50 {
					share = 0.1
				}
				if source.Float64() < share {
					id = "b0"
				}
				line.Due[id][i]++
			}
		}
		s := affectedBackends{ids: []string{"b0"}, ready: 2, from: 51, to: 200}
		if i, ok := s.avoided(line); !ok || i > 51+quietIntervals {
			t.Errorf("seed %d: callers avoid the backend from interval %d (%t), want 51", seed, i, ok)
		}
	}
}

func TestTheShareOfAffectedBackendsIsOfTheCallsUntilTheNextEvent(t *testing.T) {
	seen := measure.Measurement{Started: began, Elapsed: 4 * time.Second, Timeline: measure.Timeline{
		Due: map[string][]uint64{"b0": line(0, 3*time.Second, 1), "b1": line(0, 4*time.Second, 3)},
	}}
	acts := []PerformedEvent{
		{Event: experiment.Event{Slow: &experiment.Slow{Backends: 1}}, Time: after(time.Second), Backends: []string{"b0"}},
		{Event: experiment.Event{Recover: true}, Time: after(2 * time.Second)},
	}
	got := outcomes(acts, seen, []cluster.Snapshot{set(after(-time.Second), "b0", "b1")})
	if e := got[0]; e.Answered != 9*4 || e.AnsweredByAffected != 9 { // the interval of the event is left out
		t.Errorf("the affected backends answered %d of %d calls, want 9 of 36", e.AnsweredByAffected, e.Answered)
	}
	if e := got[1]; e.Answered != 0 || e.Took != (result.Took{}) {
		t.Errorf("an event that affects no backend has %+v, want no calls and no times", e)
	}
}

// b0 is reset at 2.03 s and the next event follows at 4 s, when calls of 200 ms are in flight.
func TestLossesOfTheNextEventAreNotThoseOfAReset(t *testing.T) {
	fair := after2s(10, [2]int{60, 10})
	tail := after2s(0, [2]int{18, 0}, [2]int{2, 10}, [2]int{40, 0}) // due in the last 200 ms before the next event
	hung := after2s(0, [2]int{1, 0}, [2]int{19, 10}, [2]int{40, 0}) // due since the reset
	endAt := func(interval int, calls uint64) []uint64 { return append(make([]uint64, interval), calls) }
	for name, c := range map[string]struct {
		lost, errors []uint64
		dropped      uint64
		want         float64 // ms; 0: not observed
	}{
		"calls in flight fail after the next event":  {tail, endAt(69, 20), 0, 100},
		"calls fail before the next event":           {tail, endAt(39, 20), 0, 0},
		"calls hang since the reset and fail later":  {hung, endAt(69, 190), 0, 0},
		"calls are dropped, which may be before":     {tail, endAt(69, 10), 10, 0},
		"calls fail shortly after the reset as well": {after2s(0, [2]int{2, 10}, [2]int{16, 0}, [2]int{2, 10}), append(after2s(0, [2]int{2, 10}), endAt(49, 20)...), 0, 200},
	} {
		answeredDue, answeredAt := make([]uint64, 80), make([]uint64, 80)
		for i := range answeredDue {
			if answeredDue[i] = 30; i < len(c.lost) {
				answeredDue[i] -= c.lost[i]
			}
			if i+2 < len(answeredAt) {
				answeredAt[i+2] = answeredDue[i]
			}
		}
		for i := range fair { // b0 answers its share of them
			answeredDue[i] -= min(fair[i], answeredDue[i])
		}
		seen := measure.Measurement{Started: began, Elapsed: 8 * time.Second, Dropped: c.dropped, Timeline: measure.Timeline{
			Due: map[string][]uint64{"b0": fair, "b1": answeredDue}, Lost: c.lost,
			Backends: map[string][]uint64{"b1": answeredAt}, Errors: map[string][]uint64{"UNAVAILABLE": c.errors},
		}}
		reset := experiment.Event{Cut: &experiment.Cut{Backends: 1, How: "reset"}}
		acts := []PerformedEvent{{Event: reset, Time: after(2030 * time.Millisecond), Backends: []string{"b0"}},
			{Event: experiment.Event{Slow: &experiment.Slow{Backends: 1}}, Time: after(4 * time.Second), Backends: []string{"b0"}}}
		got := outcomes(acts, seen, []cluster.Snapshot{set(after(-time.Second), "b0", "b1", "b2")})[0]
		if took := got.Took.Avoided; (took == nil) != (c.want == 0) || took != nil && *took != c.want {
			t.Errorf("%s: no more calls are lost after %v, want %g ms (0: not observed)", name, got.Took.Avoided, c.want)
		}
	}
}

// Without a backend that answers, all calls hang from the first event to the next, in the order in which they were due.
func TestCallsThatHangFromOneEventToTheNextAreLost(t *testing.T) {
	for hanging, want := range map[int]uint64{20: 600, 2: 0} { // intervals of 30 calls before the next event, in the interval 40
		line := measure.Timeline{Lost: make([]uint64, 40), Due: map[string][]uint64{"b": make([]uint64, 40)}, Backends: map[string][]uint64{"b": make([]uint64, 42)},
			Errors: map[string][]uint64{"DEADLINE_EXCEEDED": append(make([]uint64, 60), uint64(30*hanging))}}
		for i := range 40 {
			if i >= 40-hanging {
				line.Lost[i] = 30
			} else {
				line.Due["b"][i], line.Backends["b"][i+2] = 30, 30
			}
		}
		if got := sumOf(beforeNext(measure.Measurement{Timeline: line}, 20, 40).Lost, 0, 40); got != want {
			t.Errorf("%d intervals hang: %d calls count as lost, want %d", hanging, got, want)
		}
	}
}
