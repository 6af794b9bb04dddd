package analysis

import (
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// Only a load whose calls take long for its window has a rate until the last answer. A stall that ends just behind the
// window is drain, also if it lasts for most of the window.
func TestASlowLoadHasNoWindowAndAStallHas(t *testing.T) {
	const window = 4 * time.Second // 200 calls/s
	for name, c := range map[string]struct {
		took        time.Duration // of a call
		stall, ends time.Duration // calls that are due in between end at the end of it
		rate        float64
		hasWindow   bool
	}{
		"quick calls":                     {20 * time.Millisecond, 0, 0, 199.25, true},
		"calls of a fifth of the window":  {800 * time.Millisecond, 0, 0, 160.25, true},
		"calls of half the window":        {2 * time.Second, 0, 0, 133.56, false},
		"calls of five windows":           {20 * time.Second, 0, 0, 33.34, false},
		"a stall just behind the window":  {20 * time.Millisecond, 1500 * time.Millisecond, 4300 * time.Millisecond, 74.25, true},
		"a stall long behind the window":  {20 * time.Millisecond, 1500 * time.Millisecond, 12 * time.Second, 74.25, true},
		"a stall from the start":          {20 * time.Millisecond, time.Nanosecond, 4300 * time.Millisecond, 0.25, true},
		"a stall that ends in the window": {20 * time.Millisecond, time.Second, 3 * time.Second, 199.25, true},
		"a stall near the end of slow":    {2 * time.Second, 3 * time.Second, 6300 * time.Millisecond, 126.98, false},
	} {
		recorder := measure.NewRecorder(0)
		recorder.CountWindow(window)
		for i := range 800 {
			due := time.Duration(i) * 5 * time.Millisecond
			done := due + c.took
			if due >= c.stall-c.took && due < c.ends {
				done = max(done, c.ends)
			}
			recorder.Record(measure.Call{Due: due, Sent: due, Done: done, Code: measure.OK, Backend: "a"})
		}
		seen, err := recorder.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		if rate, window := Rate(seen); (window != nil) != c.hasWindow || rate < c.rate-0.5 || rate > c.rate+0.5 {
			t.Errorf("%s: %g calls/s in %+v, want %g; has a window: %v", name, rate, window, c.rate, c.hasWindow)
		}
	}
}

// The last call of a slow open loop ends long before its window does.
func TestTheRateOfFewCallsIsThatOfTheWindow(t *testing.T) {
	recorder := measure.NewRecorder(0)
	recorder.CountWindow(5 * time.Second)
	for i := range 5 {
		due := time.Duration(i) * time.Second
		recorder.Record(measure.Call{Due: due, Sent: due, Done: due + time.Millisecond, Code: measure.OK})
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	if rate, window := Rate(seen); rate != 1 || window == nil || window.LengthMS != 5000 {
		t.Errorf("%g calls/s in %+v, want 1 in 5 s", rate, window)
	}
}

func TestRatesAreThoseOfTheWindow(t *testing.T) {
	var trials []result.Trial
	for round, end := range []time.Duration{0, 3 * time.Second} { // the second trial stalls for its last 0.5 s
		recorder := measure.NewRecorder(0)
		recorder.CountWindow(2 * time.Second)
		for n := range 200 {
			call := measure.Call{Due: time.Duration(n) * 10 * time.Millisecond, Code: measure.OK}
			if call.Done = call.Due; end > 0 && n >= 150 {
				call.Done, call.Code = end, "DEADLINE_EXCEEDED"
			}
			recorder.Record(call)
		}
		seen, err := recorder.Measurement()
		if err != nil {
			t.Fatal(err)
		}
		trials = append(trials, Record{Merged: seen, Callers: make([]CallerRecord, 1)}.Summarize(result.Trial{Round: round + 1}))
	}
	if one := trials[1]; one.Rate != 75 || one.Answered() != 75 || one.Window.DrainMS != 1000 {
		t.Errorf("%g calls/s, %g answered, %+v; want the 150 calls of 2 s, and 1 s of drain", one.Rate, one.Answered(), one.Window)
	}
	d := Assemble(result.Document{Arms: []result.Arm{{Trials: trials}}})
	if arm := d.Arms[0]; arm.Rate != 87.5 || arm.Answered() != 87.5 || arm.Window.LengthMS != 2000 || arm.Window.DrainMS != 1000 {
		t.Errorf("%g calls/s, %g answered, %+v; want those of both windows and the longest drain", arm.Rate, arm.Answered(), arm.Window)
	}
}

// Calls that fail at once are no throughput: a rate, its differences and its trend are of successful calls.
func TestTheRateIsOfSuccessfulCalls(t *testing.T) {
	m := result.Measures{Calls: 100, Rate: 50, Errors: map[string]uint64{"UNAVAILABLE": 40}}
	for _, one := range metrics {
		if one.name == "rate" && one.of(result.Trial{Measures: m}) != 30 {
			t.Errorf("the rate is %g, want that of 60 of 100 calls, 30", one.of(result.Trial{Measures: m}))
		}
	}
}
