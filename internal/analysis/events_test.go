package analysis

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return began.Add(d) }

func endpoint(id string) cluster.Endpoint {
	last := id[len(id)-1] - '0'
	return cluster.Endpoint{ID: id, Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 9, 9, last}), 50051), Serving: true}
}

func set(at time.Time, ids ...string) cluster.Snapshot {
	s := cluster.Snapshot{At: at}
	for _, id := range ids {
		s.Endpoints = append(s.Endpoints, endpoint(id))
	}
	return s
}

// line is a timeline of one backend: calls in each interval from one moment on.
func line(from, to time.Duration, calls uint64) []uint64 {
	all := make([]uint64, to/measure.TimelineInterval)
	for i := from / measure.TimelineInterval; i < to/measure.TimelineInterval; i++ {
		all[i] = calls
	}
	return all
}

func TestAnEventHasItsTimesAndLostCalls(t *testing.T) {
	const end = 10 * time.Second
	history := []cluster.Snapshot{
		set(after(-time.Second), "b0", "b1"),
		set(after(2*time.Second+30*time.Millisecond), "b0", "b1", "b2"),
		set(after(2*time.Second+50*time.Millisecond), "b0", "b1", "b2", "b3"),
	}
	seen := measure.Measurement{
		Started: began, Elapsed: end,
		FirstResponse: map[string]time.Duration{"b0": 0, "b1": 0, "b2": 2100 * time.Millisecond, "b3": 2090 * time.Millisecond},
		ResolverUpdates: []measure.ResolverUpdate{
			{At: after(-time.Second), Addrs: []string{"127.9.9.0:50051", "127.9.9.1:50051"}},
			{At: after(2*time.Second + 40*time.Millisecond), Addrs: []string{"127.9.9.0:50051", "127.9.9.1:50051", "127.9.9.2:50051"}},
			{At: after(2*time.Second + 60*time.Millisecond), Addrs: []string{"127.9.9.3:50051", "127.9.9.0:50051", "127.9.9.1:50051", "127.9.9.2:50051"}},
		},
		Timeline: measure.Timeline{
			Backends: map[string][]uint64{
				"b0": line(0, end, 50), "b1": line(0, end, 50),
				"b2": line(3*time.Second, end, 50), "b3": line(3*time.Second, end, 50),
			},
			Errors: map[string][]uint64{"UNAVAILABLE": {20: 3, 70: 1, 99: 2}, "CANCELLED": {70: 3}},
			Late:   []uint64{19: 8, 21: 5, 70: 9},
		},
	}
	acts := []PerformedEvent{
		{Event: experiment.Event{Scale: 4}, Time: after(2 * time.Second)},
		{Event: experiment.Event{Kill: 1}, Time: after(7 * time.Second)},
	}
	got := outcomes(acts, seen, history)

	up := got[0]
	if up.What != "scale 4" || up.AtMS != 2000 || up.Failed != 3 || up.Late != 5 {
		t.Errorf("%s at %g ms, %d failed, %d late; want scale 4 at 2000 ms, 3 failed, 5 late", up.What, up.AtMS, up.Failed, up.Late)
	}
	for what, pair := range map[string][2]*float64{
		"endpoint ready":   {up.Took.EndpointReady, new(50.0)},
		"resolver updated": {up.Took.ResolverUpdated, new(60.0)}, // of all four, not of three
		"first call":       {up.Took.FirstCall, new(90.0)},       // of b3, before b2
	} {
		if pair[0] == nil || *pair[0] != *pair[1] {
			t.Errorf("%s took %v, want %g ms", what, pair[0], *pair[1])
		}
	}
	// A second that begins at 2.7 s has an index of 0.95 already, but b2 and b3 received
	// no call before 3 s.
	if b := up.Took.BalanceRestored; b == nil || *b != 1000 {
		t.Errorf("balance was restored after %v ms, want 1000", b)
	}

	kill := got[1]
	if diff := cmp.Diff(map[string]uint64{"UNAVAILABLE": 3, "CANCELLED": 3}, kill.Errors); diff != "" || kill.Late != 9 {
		t.Errorf("%d calls are late after the kill, want 9; errors by code (-want +got):\n%s", kill.Late, diff)
	}
	if kill.Failed != 6 || kill.Took != (result.Took{}) {
		t.Errorf("%d calls failed after the kill and it took %+v, want 6 and no times", kill.Failed, kill.Took)
	}
}

func TestAnEventThatOutlastsItsLoadIsUnfinished(t *testing.T) {
	old := []string{"b0", "b1", "b2"}
	roll := PerformedEvent{Event: experiment.Event{Roll: true}, Time: after(time.Second), Backends: old}
	scale := PerformedEvent{Event: experiment.Event{Scale: 5}, Time: after(time.Second)}
	resume := PerformedEvent{Event: experiment.Event{Resume: true}, Time: after(2 * time.Second)}
	for _, c := range []struct {
		name   string
		events []PerformedEvent
		ready  []string // at the end of the load
		want   *result.Unfinished
	}{
		{"a rollout that replaced two backends", []PerformedEvent{roll}, []string{"b2", "b3", "b4"}, &result.Unfinished{Done: 2, Of: 3}},
		{"the same before another event", []PerformedEvent{roll, resume}, []string{"b2", "b3", "b4"}, &result.Unfinished{Done: 2, Of: 3}},
		{"a rollout that replaced all backends", []PerformedEvent{roll}, []string{"b3", "b4", "b5"}, nil},
		{"a scaling that started one of two backends", []PerformedEvent{scale}, []string{"b0", "b1", "b2", "b3"}, &result.Unfinished{Done: 4, Of: 5}},
		{"a complete scaling", []PerformedEvent{scale}, []string{"b0", "b1", "b2", "b3", "b4"}, nil},
		{"a rollout that failed", []PerformedEvent{{Event: roll.Event, Err: errTest("no such luck")}}, old, nil},
	} {
		// What is published after the load does not count.
		history := []cluster.Snapshot{set(began, old...), set(after(3*time.Second), c.ready...), set(after(5*time.Second), "b6", "b7", "b8")}
		got := outcomes(c.events, measure.Measurement{Started: began, Elapsed: 4 * time.Second}, history)[0]
		if diff := cmp.Diff(c.want, got.Unfinished); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		var want []string
		if c.want != nil {
			want = []string{fmt.Sprintf("a, round 1: the load ended after %d of %d backends were %s (%s); lengthen the load", c.want.Done, c.want.Of, finished(got), got.What)}
		}
		if c.name != "a rollout that failed" {
			if diff := cmp.Diff(want, warnings(result.Arm{Name: "a", Trials: []result.Trial{{Round: 1, Events: []result.Event{got}}}})); diff != "" {
				t.Errorf("%s: the warnings are %s", c.name, diff)
			}
		}
	}
}

func TestAFailedEventHasItsError(t *testing.T) {
	acts := []PerformedEvent{{Event: experiment.Event{Kill: 9}, Time: began, Err: errTest("no such luck")}}
	got := outcomes(acts, measure.Measurement{Started: began, Elapsed: time.Second}, []cluster.Snapshot{set(began, "b0")})
	if got[0].Error != "no such luck" {
		t.Errorf("the error is %q, want %q", got[0].Error, "no such luck")
	}
}

type errTest string

func (e errTest) Error() string { return string(e) }

func TestATimelineHasTheNumberOfReadyBackends(t *testing.T) {
	history := []cluster.Snapshot{set(after(-time.Hour), "b0"), set(after(150*time.Millisecond), "b0", "b1")}
	got := timeline(measure.Measurement{Started: began, Elapsed: 350 * time.Millisecond}, history)
	want := []int{1, 1, 2, 2}
	for i := range want {
		if len(got.Ready) != len(want) || got.Ready[i] != want[i] {
			t.Fatalf("the numbers of ready backends are %v, want %v", got.Ready, want)
		}
	}
}

func TestAResumedBackendHasAFirstCallAgain(t *testing.T) {
	history := []cluster.Snapshot{set(after(-time.Second), "b0"), set(after(3*time.Second), "b0", "b1")}
	seen := measure.Measurement{
		Started: began, Elapsed: 6 * time.Second,
		FirstResponse: map[string]time.Duration{"b0": 0, "b1": time.Millisecond}, // before it was paused
		Timeline: measure.Timeline{Backends: map[string][]uint64{
			"b0": line(0, 6*time.Second, 20), "b1": line(3200*time.Millisecond, 6*time.Second, 20),
		}},
	}
	got := outcomes([]PerformedEvent{{Event: experiment.Event{Resume: true}, Time: after(2500 * time.Millisecond)}}, seen, history)
	if first := got[0].Took.FirstCall; first == nil || *first != 800 {
		t.Errorf("the first call of a resumed backend took %v ms, want 800", first)
	}
}

// A busy machine may start a load only after its first events.
func TestAnEventMayComeBeforeTheLoad(t *testing.T) {
	history := []cluster.Snapshot{set(after(-5*time.Second), "b0", "b1"), set(after(-3*time.Second), "b0"), set(after(time.Second), "b0", "b1")}
	seen := measure.Measurement{
		Started: began, Elapsed: 6 * time.Second,
		FirstResponse: map[string]time.Duration{"b0": 0},
		Timeline: measure.Timeline{
			Lost:     line(time.Second, 2*time.Second, 1),
			Due:      map[string][]uint64{"b0": line(0, 6*time.Second, 20)},
			Backends: map[string][]uint64{"b0": line(0, 6*time.Second, 20)},
		},
	}
	var events []PerformedEvent
	for i, e := range []experiment.Event{{Kill: 1}, {KillProxy: true}, {Pause: 1}, {Resume: true}, {Scale: 2}} {
		events = append(events, PerformedEvent{Event: e, Time: after(time.Duration(i-5) * 600 * time.Millisecond), Backends: []string{"b1"}})
	}
	for i, e := range outcomes(events, seen, history) {
		if e.AtMS != float64(i-5)*600 {
			t.Errorf("event %d was at %v ms", i, e.AtMS)
		}
	}
}

func TestWithEventsEachSecondWithoutAChangeIsAGroup(t *testing.T) {
	history := []cluster.Snapshot{
		set(after(-time.Second), "b0", "b1"),
		set(after(1500*time.Millisecond), "b1", "b2"), // as many backends, but not the same
	}
	seen := measure.Measurement{Started: began, Elapsed: 3 * time.Second, Timeline: measure.Timeline{
		Backends: map[string][]uint64{"b0": line(0, 3*time.Second, 3), "b1": line(0, 3*time.Second, 1)},
	}}
	got := groups(nil, true, seen, history)
	// The second in which b2 replaced b0 is left out. In the last one b0, which
	// should receive no call, does not replace b2.
	want := [][]uint64{{10, 30}, {0, 10, 30}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestATrialWithoutASecondWithoutAChangeIsOneGroup(t *testing.T) {
	seen := measure.Measurement{Started: began, Elapsed: 900 * time.Millisecond}
	got := groups(map[string]uint64{"b0": 270, "b1": 0}, true, seen, []cluster.Snapshot{set(after(-time.Second), "b0", "b1")})
	if diff := cmp.Diff([][]uint64{{0, 270}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCallsWithoutAReceivedAnswerAreWasted(t *testing.T) {
	// b2 was killed, so its number is not known; b3 was asked before it counted its last call.
	got := wasted(map[string]uint64{"b0": 12, "b1": 5, "b3": 4}, map[string]uint64{"b0": 10, "b2": 7, "b3": 5})
	if got == nil || *got != 2+5 {
		t.Errorf("%v calls are wasted, want 7", got)
	}
	if got := wasted(nil, map[string]uint64{"b0": 10}); got != nil {
		t.Errorf("%d calls are wasted although no backend was asked, want not known", *got)
	}
}

// A caller that does not know which backends answered has no times of them: they are not "never".
func TestTimesOfUnknownBackendsAreNotKnown(t *testing.T) {
	r := Record{
		BackendsUnknown: true, CallsBackends: true,
		Merged: measure.Measurement{Started: began, Elapsed: 4 * time.Second, Calls: 100},
		Events: []PerformedEvent{{Event: experiment.Event{Scale: 2}, Time: after(time.Second)}},
		Endpoints: []cluster.Snapshot{
			set(after(-time.Second), "b0"),
			set(after(1100*time.Millisecond), "b0", "b1"),
		},
		Callers: []CallerRecord{{}},
	}
	trial := r.Summarize(result.Trial{})
	e := trial.Events[0]
	if !e.BackendsUnknown || e.Took.EndpointReady == nil || e.Took.FirstCall != nil || e.Took.BalanceNote != "" || len(trial.Backends) > 0 {
		t.Errorf("%+v, backends %v; want the time of the endpoints and nothing of backends", e, trial.Backends)
	}
	if f := followTime([]result.Trial{trial}); f != nil {
		t.Errorf("calls followed the event in %+v, want not known", f)
	}
}
