package analysis

import (
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// Calls that a server itself answered with CANCELLED before an interrupt are lost calls, like other failures.
func TestCallsCancelledBeforeAnInterruptAreTheServers(t *testing.T) {
	line := measure.Timeline{Errors: map[string][]uint64{"CANCELLED": {7, 0, 5, 2}, "UNAVAILABLE": {1, 1, 1, 1}}}
	for at, want := range map[time.Duration]uint64{
		0: 14, 99 * time.Millisecond: 14, 160 * time.Millisecond: 7, 270 * time.Millisecond: 7,
		320 * time.Millisecond: 7, 360 * time.Millisecond: 2, time.Second: 0,
	} {
		if got := cancelledFrom(at, line); got != want {
			t.Errorf("interrupted at %v: %d calls were cancelled, want %d", at, got, want)
		}
	}
	if got := cancelledFrom(time.Second, measure.Timeline{}); got != 0 {
		t.Errorf("without failed calls %d calls were cancelled, want 0", got)
	}
}

func TestCallsCancelledAtAnInterruptAreInNoLatency(t *testing.T) {
	started := time.Now()
	seen := measure.Measurement{
		Started: started, Calls: 3, Errors: map[string]uint64{"CANCELLED": 2, "UNAVAILABLE": 1}, Window: time.Second, Elapsed: 500 * time.Millisecond,
		Timeline: measure.Timeline{Errors: map[string][]uint64{"CANCELLED": {0, 0, 0, 0, 2}}},
		ByName:   map[string]measure.NamedCalls{"get": {Calls: 2, Errors: map[string]uint64{"CANCELLED": 2}}, "put": {Calls: 1, Errors: map[string]uint64{"UNAVAILABLE": 1}}},
	}
	trial := Measured(result.Trial{}, seen, time.Second, started.Add(450*time.Millisecond))
	if trial.Cancelled != 2 || trial.Latency.Lost != 1 || trial.Window != nil || trial.Rate != 6 {
		t.Errorf("%d cancelled, %g of the latencies of lost calls, window %v, %g calls/s; want 2, all of the one lost call, none, 6", trial.Cancelled, trial.Latency.Lost, trial.Window, trial.Rate)
	}
	if get, put := trial.ByName["get"], trial.ByName["put"]; get.Latency.HDR != "" || get.Answered != 0 || put.Latency.P50 < 999 {
		t.Errorf("get has %+v, put %+v; want no latency, and the deadline", get, put)
	}
}

// Each of several callers leaves out the calls that it cancelled, as all of them together do.
func TestCallersLeaveOutTheCallsThatAnInterruptCancelled(t *testing.T) {
	started := time.Now()
	share := measure.Measurement{
		Started: started, Calls: 2, Errors: map[string]uint64{"CANCELLED": 2}, Window: time.Second, Elapsed: 500 * time.Millisecond,
		Timeline: measure.Timeline{Errors: map[string][]uint64{"CANCELLED": {0, 0, 0, 0, 2}}},
	}
	record := Record{Start: started, Interrupted: started.Add(450 * time.Millisecond), Callers: []CallerRecord{{"one", share}, {"two", share}}}
	record.Config.Caller.Timeout = time.Second
	callers, err := record.callers()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range callers {
		if c.Latency.Lost > 0 || c.Rate != 4 {
			t.Errorf("caller %s: %g of the latencies are of lost calls, %g calls/s; want none and 4", c.Name, c.Latency.Lost, c.Rate)
		}
	}
}
