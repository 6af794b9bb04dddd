package lab

import (
	"net/netip"
	"testing"
	"time"

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

// steady is a timeline of one backend: calls in each interval from one moment on.
func steady(from, to time.Duration, calls uint64) []uint64 {
	line := make([]uint64, to/measure.Interval)
	for i := from / measure.Interval; i < to/measure.Interval; i++ {
		line[i] = calls
	}
	return line
}

func TestWhatCameOfAnEvent(t *testing.T) {
	const end = 10 * time.Second
	history := []cluster.Snapshot{
		set(after(-time.Second), "b0", "b1"),
		set(after(2*time.Second+30*time.Millisecond), "b0", "b1", "b2"),
		set(after(2*time.Second+50*time.Millisecond), "b0", "b1", "b2", "b3"),
	}
	seen := measure.Measurement{
		Started: began, Elapsed: end,
		First: map[string]time.Duration{"b0": 0, "b1": 0, "b2": 2100 * time.Millisecond, "b3": 2090 * time.Millisecond},
		Told: []measure.Told{
			{At: after(-time.Second), Addrs: []string{"127.9.9.0:50051", "127.9.9.1:50051"}},
			{At: after(2*time.Second + 40*time.Millisecond), Addrs: []string{"127.9.9.0:50051", "127.9.9.1:50051", "127.9.9.2:50051"}},
			{At: after(2*time.Second + 60*time.Millisecond), Addrs: []string{"127.9.9.3:50051", "127.9.9.0:50051", "127.9.9.1:50051", "127.9.9.2:50051"}},
		},
		Timeline: measure.Timeline{
			Backends: map[string][]uint64{
				"b0": steady(0, end, 50), "b1": steady(0, end, 50),
				"b2": steady(3*time.Second, end, 50), "b3": steady(3*time.Second, end, 50),
			},
			Errors: []uint64{20: 3, 70: 4, 99: 2},
		},
	}
	acts := []act{
		{event: experiment.Event{Scale: 4}, at: after(2 * time.Second)},
		{event: experiment.Event{Kill: 1}, at: after(7 * time.Second)},
	}
	got := outcomes(acts, seen, history)

	up := got[0]
	if up.What != "scale 4" || up.AtMS != 2000 || up.Failed != 3 {
		t.Errorf("%s at %g ms, %d failed", up.What, up.AtMS, up.Failed)
	}
	for what, pair := range map[string][2]*float64{
		"endpoint ready": {up.Took.EndpointReady, new(50.0)},
		"client told":    {up.Took.ClientTold, new(60.0)}, // of all four, not of three
		"first call":     {up.Took.FirstCall, new(90.0)},  // of b3, before b2
	} {
		if pair[0] == nil || *pair[0] != *pair[1] {
			t.Errorf("%s took %v, want %g ms", what, pair[0], *pair[1])
		}
	}
	// Of the second from 2.7 s on seven tenths are even, and its index is 0.95 already.
	if b := up.Took.BalanceRestored; b == nil || *b != 700 {
		t.Errorf("balance was restored after %v ms, want 700", b)
	}

	kill := got[1]
	if kill.Failed != 6 || kill.Took != (result.Took{}) {
		t.Errorf("%d failed after the kill, took %+v; nothing was published after it", kill.Failed, kill.Took)
	}
}

func TestAnEventThatCouldNotBeDoneSaysSo(t *testing.T) {
	acts := []act{{event: experiment.Event{Kill: 9}, at: began, err: errTest("no such luck")}}
	got := outcomes(acts, measure.Measurement{Started: began, Elapsed: time.Second}, []cluster.Snapshot{set(began, "b0")})
	if got[0].Error != "no such luck" {
		t.Errorf("%+v", got[0])
	}
}

type errTest string

func (e errTest) Error() string { return string(e) }

func TestTheTimelineKnowsHowManyWereReady(t *testing.T) {
	history := []cluster.Snapshot{set(after(-time.Hour), "b0"), set(after(150*time.Millisecond), "b0", "b1")}
	line := timeline(measure.Measurement{Started: began, Elapsed: 350 * time.Millisecond}, history)
	want := []int{1, 1, 2, 2}
	for i := range want {
		if len(line.Ready) != len(want) || line.Ready[i] != want[i] {
			t.Fatalf("ready were %v, want %v", line.Ready, want)
		}
	}
}

func TestWithEventsEverySecondIsAGroupOfTheBackendsReadyThen(t *testing.T) {
	trial := result.Trial{
		Events: []result.Event{{}},
		Timeline: &result.Timeline{
			IntervalMS: 100,
			Backends:   map[string][]uint64{"b0": steady(0, 2*time.Second, 3), "b1": steady(time.Second, 2*time.Second, 3)},
			Ready:      append(intervalsOf(1, 10), intervalsOf(3, 10)...),
		},
	}
	got := groups(trial)
	if len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 3 || got[1][0] != 0 || got[1][1] != 30 || got[1][2] != 30 {
		t.Errorf("groups are %v; want [30] and [0 30 30]", got)
	}
}

func intervalsOf(ready, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = ready
	}
	return all
}
