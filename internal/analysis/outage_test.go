package analysis

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// At 2.03 s rpclab kills a proxy, the control plane or the name server.
func TestAnOutageIsFromTheFirstLossToTheFirstLaterAnswer(t *testing.T) {
	proxy, control := experiment.Event{KillProxy: true}, experiment.Event{KillControl: true}
	const none = 0
	var inStep, answered []uint64 // users call at the same time, once a second, and the answers arrive in the next interval
	for i := range 80 {
		inStep, answered = append(inStep, uint64(20*(1-min(i%10, 1)))), append(answered, 0)
		if i%10 == 1 {
			answered[i] = 20
		}
	}
	for name, c := range map[string]struct {
		event        experiment.Event
		due, lost    []uint64
		first, again float64  // ms; 0: not observed
		ended        []uint64 // answers by when they arrived; nil: when their calls were due
		failed       []uint64 // by when they ended
	}{
		"lost from the first interval for a second": {proxy, after2s(10, [2]int{11, 0}, [2]int{49, 10}), after2s(0, [2]int{11, 10}, [2]int{49, 0}), 100, 1100, nil, nil},
		"lost from half a second on":                {proxy, after2s(10, [2]int{60, 5}), after2s(0, [2]int{5, 0}, [2]int{2, 5}, [2]int{53, 0}), 600, 700, nil, nil},
		"less than a second without losses":         {proxy, after2s(10, [2]int{60, 5}), after2s(0, [2]int{1, 5}, [2]int{9, 0}, [2]int{1, 5}, [2]int{49, 0}), 100, 1100, nil, nil},
		"lost to the end":                           {proxy, after2s(10), after2s(0, [2]int{60, 10}), 100, none, nil, nil},
		"no more calls":                             {proxy, after2s(10), after2s(0, [2]int{1, 10}, [2]int{59, 0}), 100, none, nil, nil},
		"no call is lost":                           {control, after2s(10, [2]int{60, 10}), nil, none, none, nil, nil},
		"calls lost before the event":               {control, after2s(10, [2]int{60, 10}), []uint64{19: 5}, none, none, nil, nil},
		// Clients wait until they are connected again, and then make all calls at once.
		"calls that wait": {proxy, after2s(10, [2]int{1, 0}, [2]int{59, 10}), after2s(0, [2]int{1, 10}, [2]int{59, 0}), 100, 1300,
			after2s(10, [2]int{13, 0}, [2]int{1, 130}, [2]int{46, 10}), nil},
		"calls that wait and none that is lost": {proxy, after2s(10, [2]int{60, 10}), nil, none, 1300,
			after2s(10, [2]int{13, 0}, [2]int{1, 140}, [2]int{46, 10}), nil},
		"calls that are late on a busy machine": {control, after2s(10, [2]int{60, 10}), nil, none, none,
			after2s(10, [2]int{3, 0}, [2]int{1, 40}, [2]int{56, 10}), nil},
		"a pause that begins after the event": {proxy, after2s(10, [2]int{60, 10}), nil, none, 1300,
			after2s(10, [2]int{3, 10}, [2]int{10, 0}, [2]int{1, 110}, [2]int{46, 10}), nil},
		"users who call in step":                      {control, inStep, nil, none, none, answered, nil},
		"a call of before the event that fails later": {proxy, after2s(10, [2]int{60, 10}), nil, 600, 600, nil, []uint64{25: 1}},
		"answers to calls of before the event": {proxy, after2s(10, [2]int{1, 0}, [2]int{59, 10}), after2s(0, [2]int{1, 10}, [2]int{59, 0}), 100, 1300,
			append(append(after2s(10)[:17], 0, 0, 0), after2s(0, [2]int{3, 10}, [2]int{10, 0}, [2]int{1, 130}, [2]int{46, 10})[20:]...), nil},
		"a call of before the event is lost": {proxy, after2s(1, [2]int{60, 1}), []uint64{19: 1}, 100, 1300,
			after2s(1, [2]int{13, 0}, [2]int{1, 14}, [2]int{46, 1}), []uint64{20: 1}},
	} {
		if c.ended == nil {
			c.ended = c.due
		}
		seen := measure.Measurement{Started: began, Elapsed: 8 * time.Second, Timeline: measure.Timeline{
			Due: map[string][]uint64{"b0": c.due}, Lost: c.lost,
			Backends: map[string][]uint64{"b0": c.ended}, Errors: map[string][]uint64{"UNAVAILABLE": c.failed},
		}}
		got := outcomes([]PerformedEvent{{Event: c.event, Time: after(2030 * time.Millisecond)}}, seen, []cluster.Snapshot{set(began, "b0")})[0].Took
		want := result.Took{}
		if c.first > 0 {
			want.FirstLoss = &c.first
		}
		if c.again > 0 {
			want.Recovered = &c.again
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAKilledProxyIsReadyAgain(t *testing.T) {
	at := after(time.Second)
	got := outcomes([]PerformedEvent{{Event: experiment.Event{KillProxy: true}, Time: at, Restarted: at.Add(40 * time.Millisecond)}},
		measure.Measurement{Started: began, Elapsed: 5 * time.Second}, []cluster.Snapshot{set(began, "b0")})[0].Took
	if got.ProxyReady == nil || *got.ProxyReady != 40 {
		t.Errorf("the proxy is ready again after %v, want 40 ms", got.ProxyReady)
	}
}

// An update that has a true address too is only a change.
func TestFalseAddressesAreInUseWhenNoBackendIsInTheUpdate(t *testing.T) {
	lie := []string{"127.32.9.0:50051", "127.32.9.1:50051"}
	seen := measure.Measurement{Started: began, Elapsed: 5 * time.Second, ResolverUpdates: []measure.ResolverUpdate{
		{At: after(500 * time.Millisecond), Addrs: lie}, // of an earlier event
		{At: after(1200 * time.Millisecond), Addrs: []string{"127.9.9.0:50051", "127.32.9.1:50051"}},
		{At: after(1300 * time.Millisecond), Addrs: lie},
	}}
	history := []cluster.Snapshot{set(began, "b0", "b1")}
	for _, c := range []struct {
		dns  experiment.DNS
		want *float64
	}{
		{experiment.DNS{Lie: true}, new(300.0)},
		{experiment.DNS{Delay: time.Second}, nil}, // the resolver is not updated
	} {
		got := outcomes([]PerformedEvent{{Event: experiment.Event{DNS: &c.dns}, Time: after(time.Second)}}, seen, history)[0].Took.ResolverUpdated
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.dns, diff)
		}
	}
	refused := outcomes([]PerformedEvent{{Event: experiment.Event{DNS: &experiment.DNS{Lie: true}}, Time: after(time.Second), Err: errors.New("no")}}, seen, history)
	if refused[0].Took != (result.Took{}) {
		t.Errorf("a failed event took %+v, want nothing", refused[0].Took)
	}
}
