package analysis

import (
	"fmt"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// Each trial has as many codes as a recorder keeps, and each has other ones.
func TestCodesOfSeveralTrialsAreBounded(t *testing.T) {
	const trials, each = 3, failure.MaxCodes
	arm := result.Arm{}
	var callers []result.Trial
	for trial := range trials {
		codes := map[string]uint64{}
		for n := range each {
			codes[fmt.Sprintf("CODE_%03d", 100+trial*each+n)] = 1
		}
		m := result.Measures{Calls: each, Errors: codes, Samples: map[string]string{"CODE_100": "no", "CODE_399": "never"}, ByName: map[string]result.NamedCalls{"get": {Due: each, Errors: codes}}}
		arm.Trials = append(arm.Trials, result.Trial{Round: trial + 1, Measures: m})
		callers = append(callers, result.Trial{Callers: []result.Caller{{Name: "caller", Calls: each, Errors: codes}}})
	}
	if err := mergeTrials(&arm); err != nil {
		t.Fatal(err)
	}
	for what, codes := range map[string]map[string]uint64{"all": arm.Errors, "by name": arm.ByName["get"].Errors, "of a caller": mergeCallers(callers)[0].Errors} {
		if len(codes) != failure.MaxCodes+1 || codes["CODE_100"] != 1 || codes[failure.OtherCodes] != trials*each-failure.MaxCodes {
			t.Errorf("%s: %d codes, CODE_100 of %d calls, others of %d; want %d codes and others", what, len(codes), codes["CODE_100"], codes[failure.OtherCodes], failure.MaxCodes)
		}
	}
	if arm.Samples[failure.OtherCodes] != "never" || arm.Samples["CODE_100"] != "no" {
		t.Errorf("the messages are %v, want that of the code that counts as others", arm.Samples)
	}
}

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
