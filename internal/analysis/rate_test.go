package analysis

import (
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

func TestAWindowAsShortAsACallHasNoRate(t *testing.T) {
	recorder := measure.NewRecorder(0)
	recorder.CountWindow(20 * time.Millisecond)
	for i := range 20 {
		due := time.Duration(i) * time.Millisecond
		recorder.Record(measure.Call{Due: due, Sent: due, Done: due + 100*time.Millisecond, Code: measure.OK, Backend: "a"})
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	if rate, window := Rate(seen); window != nil || rate < 165 || rate > 170 {
		t.Errorf("%g calls/s in %+v, want 168: 20 calls in 119 ms", rate, window)
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
