package result

import (
	"reflect"
	"testing"

	"rpclab/internal/result/failure"
)

func TestFailedTrialsWithOneReasonAreTogether(t *testing.T) {
	died := func(at string) string {
		return "the caller died " + at + " s into the load: exit status 2; its last lines:\n" + at
	}
	var a Arm
	for i, reason := range []string{died("1.7"), "", died("12"), "no port is free", died("1.9"), "no port is free"} {
		a.Trials = append(a.Trials, Trial{Round: i + 1, Failed: reason})
	}
	want := []FailedTrials{{[]int{1, 3, 5}, died("1.7"), true}, {[]int{4, 6}, "no port is free", false}}
	if got := a.FailedTrials(); !reflect.DeepEqual(got, want) || got[0].Before() != ", first: " || got[1].Before() != ": " {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (Arm{Trials: []Trial{{Round: 1, Failed: died("2") + "one log"}, {Round: 2, Failed: died("2") + "another"}}}).FailedTrials(); len(got) != 1 || got[0].Varies {
		t.Errorf("%+v, want one reason that does not vary: the logs alone differ", got)
	}
	var inGroups Arm // up in each of two groups of arms
	for _, round := range []int{1, 2, 1, 2} {
		inGroups.Trials = append(inGroups.Trials, Trial{Round: round, Failed: "no port is free"})
	}
	if got := inGroups.FailedTrials(); len(got) != 1 || got[0].Where() != "rounds 1 and 2" || RoundsOf(inGroups.Trials) != 2 {
		t.Errorf("%+v of two rounds of two groups, want rounds 1 and 2", got)
	}
	if got := (Arm{Trials: []Trial{{Round: 1}}}).FailedTrials(); got != nil {
		t.Errorf("%+v of an arm that was measured", got)
	}
	var limits Arm
	for i, log := range []string{"fatal error: runtime: out of memory", "accept: too many open files", "fatal error: runtime: cannot allocate memory"} {
		limits.Trials = append(limits.Trials, Trial{Round: i + 1, Failed: died("1") + log})
	}
	if got := limits.FailedTrials(); len(got) != 2 || got[0].Where() != "rounds 1 and 3" {
		t.Errorf("%+v, want rounds 1 and 3, in which memory ran out, apart from round 2", got)
	}
	for want, rounds := range map[string][]int{"round 3": {3}, "rounds 1 and 2": {1, 2}, "rounds 2 to 5": {2, 3, 4, 5}, "rounds 1, 2 and 4": {1, 2, 4}, "7 rounds from 1 to 9": {1, 2, 4, 5, 6, 7, 9}} {
		if got := RoundsInWords(rounds); got != want {
			t.Errorf("%v: %q, want %q", rounds, got, want)
		}
	}
}

func TestReasonsOfCallsAreThoseOfAllTrials(t *testing.T) {
	const files, ports = "dial tcp 127.0.0.1:1: socket: too many open files", "dial tcp 127.0.0.1:1: connect: cannot assign requested address"
	a := Arm{Measures: Measures{Errors: map[string]uint64{"UNAVAILABLE": 5}, Samples: map[string]string{"UNAVAILABLE": files}}}
	for _, sample := range []string{files, ports, files} {
		a.Trials = append(a.Trials, Trial{Measures: Measures{Samples: map[string]string{"UNAVAILABLE": sample}}})
	}
	want := []failure.Reason{{Message: files}, {Message: ports}}
	if got, counted := a.ReasonsOf("UNAVAILABLE"); counted || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, counted %v; want the first messages of the trials: %+v", got, counted, want)
	}
	a.Reasons = map[string][]failure.Reason{"UNAVAILABLE": {{Message: files, Calls: 2}, {Message: ports, Calls: 3}}}
	want = []failure.Reason{{Message: ports, Calls: 3}, {Message: files, Calls: 2}}
	if got, counted := a.ReasonsOf("UNAVAILABLE"); !counted || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, counted %v; want the most frequent first: %+v", got, counted, want)
	}
	a.Reasons["UNAVAILABLE"] = a.Reasons["UNAVAILABLE"][:1] // the others are not known
	if got, counted := a.ReasonsOf("UNAVAILABLE"); counted || len(got) != 2 {
		t.Errorf("%+v, counted %v of 2 known reasons of 5 calls", got, counted)
	}
}
