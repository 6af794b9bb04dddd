package analysis

import (
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// The calls of all names are those of the trial: also those that were cancelled or dropped, and in their latency.
func TestCallsByNameAddUpToTheTrial(t *testing.T) {
	recorder := measure.NewRecorder(0)
	for n, code := range []string{measure.OK, "CANCELLED", measure.OK, "UNAVAILABLE", "CANCELLED"} {
		due := time.Duration(n) * time.Millisecond
		recorder.Record(measure.Call{Name: []string{"get", "list"}[n%2], Due: due, Sent: due, Done: due + 5*time.Millisecond, Code: code})
	}
	recorder.Drop(time.Millisecond, "list")
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	trial := Record{Config: experiment.Config{Caller: experiment.Caller{Timeout: time.Second}}, Merged: seen, Callers: make([]CallerRecord, 1)}.Summarize(result.Trial{})
	var due, lost uint64
	atDeadline := 0
	for _, calls := range trial.ByName {
		due += calls.Due
		lost += calls.Due - calls.Answered
		if calls.Latency.Max >= 999 {
			atDeadline++
		}
	}
	if due != trial.Calls+trial.Dropped || lost != trial.Measures.Failed()+trial.Dropped || atDeadline != 2 || trial.Latency.Max < 999 {
		t.Errorf("%d calls due and %d lost by name, the trial has %d+%d and %d+%d; of %+v", due, lost, trial.Calls, trial.Dropped, trial.Measures.Failed(), trial.Dropped, trial.ByName)
	}
}
