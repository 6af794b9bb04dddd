package analysis

import (
	"testing"
	"time"

	"rpclab/internal/measure"
)

func TestASecondWhoseCallsWereLostHasNoLatency(t *testing.T) {
	recorder := measure.NewRecorder(0)
	for i := range 300 {
		due := time.Duration(i) * 10 * time.Millisecond
		call := measure.Call{Due: due, Sent: due, Done: due + 2*time.Millisecond, Code: measure.OK, Backend: "a"}
		if due >= time.Second {
			call.Code = "UNAVAILABLE"
		}
		recorder.Record(call)
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	over := LatencyOverTime(seen)
	if over.IntervalMS != 1000 || len(over.P50) != 3 {
		t.Fatalf("%d intervals of %d ms, want 3 of 1000", len(over.P50), over.IntervalMS)
	}
	if p50 := over.P50[0]; p50 == nil || *p50 < 1.9 || *p50 > 2.1 {
		t.Errorf("p50 of the first second is %v, want 2 ms", p50)
	}
	for i := 1; i < 3; i++ {
		if over.P50[i] != nil || over.Lost[i] != 100 || over.Calls[i] != 100 {
			t.Errorf("second %d: p50 %v, %d of %d lost; want none, 100 of 100", i, over.P50[i], over.Lost[i], over.Calls[i])
		}
	}
}

func TestALoadWithoutCallsHasNoLatencyOverTime(t *testing.T) {
	if over := LatencyOverTime(measure.Measurement{}); over != nil {
		t.Errorf("got %+v, want none", over)
	}
}
