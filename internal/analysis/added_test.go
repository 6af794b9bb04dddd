package analysis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
)

// Servers may take longer to start than the next event to come. Their first call is then not an effect of that event.
func TestABackendIsOfTheEventThatAskedForIt(t *testing.T) {
	const end = 9 * time.Second
	scale := func(at time.Duration, n int) PerformedEvent {
		return PerformedEvent{Event: experiment.Event{Scale: n}, Time: after(at)}
	}
	pause := PerformedEvent{Event: experiment.Event{Pause: 1}, Time: after(2 * time.Second), Backends: []string{"b0"}}
	kill := PerformedEvent{Event: experiment.Event{Kill: 1}, Time: after(2 * time.Second), Backends: []string{"b0"}}
	failed := PerformedEvent{Event: experiment.Event{Scale: 9}, Time: after(2 * time.Second), Err: errTest("no such luck")}
	resume := PerformedEvent{Event: experiment.Event{Resume: true}, Time: after(5 * time.Second)}
	type effect struct {
		Added int
		First float64 // ms; 0: no call
		Ready float64 // ms, until the endpoints were ready; 0: they did not change
		Mixed bool    // with the effects of another event
	}
	old := set(began, "b0", "b1")
	for name, c := range map[string]struct {
		events  []PerformedEvent
		history []cluster.Snapshot
		want    []effect
	}{
		"all are ready after the next event": {[]PerformedEvent{scale(time.Second, 4), pause},
			[]cluster.Snapshot{old, set(after(3*time.Second), "b0", "b1", "b2", "b3")}, []effect{{2, 2500, 2000, true}, {Mixed: true}}},
		"one is ready before the next event": {[]PerformedEvent{scale(time.Second, 4), pause},
			[]cluster.Snapshot{old, set(after(1800*time.Millisecond), "b0", "b1", "b2"), set(after(3*time.Second), "b0", "b1", "b2", "b3")}, []effect{{2, 2500, 2000, true}, {Mixed: true}}},
		"the replacement of a killed backend comes last": {[]PerformedEvent{scale(time.Second, 4), kill},
			[]cluster.Snapshot{old, set(after(2100*time.Millisecond), "b1"), set(after(3*time.Second), "b1", "b2", "b3"), set(after(4*time.Second), "b1", "b2", "b3", "b4")},
			[]effect{{2, 2500, 2000, true}, {1, 3000, 2000, true}}},
		"a resumed backend is of its own event": {[]PerformedEvent{scale(time.Second, 3), resume},
			[]cluster.Snapshot{set(after(-time.Hour), "b0", "b1"), set(began, "b1"), set(after(6*time.Second), "b0", "b1")}, []effect{{}, {1, 1200, 1000, false}}},
		"a scaling down leaves no backend to wait for": {[]PerformedEvent{scale(time.Second, 4), scale(2*time.Second, 2), scale(2500*time.Millisecond, 4)},
			[]cluster.Snapshot{old, set(after(3*time.Second), "b0", "b1", "b2", "b3")}, []effect{{}, {}, {2, 1000, 500, false}}},
		"an event that failed asked for none": {[]PerformedEvent{scale(time.Second, 3), failed},
			[]cluster.Snapshot{old, set(after(3*time.Second), "b0", "b1", "b2")}, []effect{{1, 2500, 2000, true}, {}}},
	} {
		seen := measure.Measurement{Started: began, Elapsed: end,
			FirstResponse: map[string]time.Duration{"b0": 0, "b1": 0, "b2": 3500 * time.Millisecond, "b3": 3600 * time.Millisecond, "b4": 5 * time.Second},
			Timeline:      measure.Timeline{Backends: map[string][]uint64{"b0": line(6100*time.Millisecond, end, 5)}},
		}
		var got []effect
		for _, e := range outcomes(c.events, seen, c.history) {
			now := effect{Added: e.Added}
			if e.Took.FirstCall != nil {
				now.First = *e.Took.FirstCall
			}
			if e.Took.EndpointReady != nil {
				now.Ready = *e.Took.EndpointReady
			}
			now.Mixed = strings.Contains(e.Took.BalanceNote, "event")
			if now.Mixed && (e.Took.BalanceRestored != nil || e.Took.ResolverUpdated != nil) {
				t.Errorf("%s: an effect of several events counts as that of one: %+v", name, e.Took)
			}
			got = append(got, now)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
