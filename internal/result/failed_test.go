package result

import (
	"reflect"
	"testing"
)

func TestFailedTrialsWithOneReasonAreTogether(t *testing.T) {
	died := func(at string) string {
		return "the caller died " + at + " s into the load: exit status 2; its last lines:\n" + at
	}
	var a Arm
	for i, reason := range []string{died("1.7"), "", died("12"), "no port is free", died("1.9"), "no port is free"} {
		a.Trials = append(a.Trials, Trial{Round: i + 1, Failed: reason})
	}
	want := []FailedTrials{{[]int{1, 3, 5}, died("1.7")}, {[]int{4, 6}, "no port is free"}}
	if got := a.FailedTrials(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
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
	for want, rounds := range map[string][]int{"round 3": {3}, "rounds 1 and 2": {1, 2}, "rounds 2 to 5": {2, 3, 4, 5}, "rounds 1, 2 and 4": {1, 2, 4}, "7 rounds from 1 to 9": {1, 2, 4, 5, 6, 7, 9}} {
		if got := RoundsInWords(rounds); got != want {
			t.Errorf("%v: %q, want %q", rounds, got, want)
		}
	}
}
