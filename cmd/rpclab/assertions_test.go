package main

import (
	"slices"
	"testing"

	"rpclab/internal/lab"
	"rpclab/internal/result"
)

func TestNoAssertionHoldsIfARoundGaveNoMeasurement(t *testing.T) {
	assertions, err := parseAssertions([]string{"errors == 0"}, false)
	if err != nil {
		t.Fatal(err)
	}
	for failed, want := range map[string][]string{
		"":                                      nil,
		"a server died":                         {"1 of 2 rounds gave no measurement"},
		lab.ErrNotRun.Error() + ": no compiler": nil,
	} {
		arm := result.Arm{Measures: result.Measures{Calls: 10}, Trials: []result.Trial{{Round: 1}, {Round: 2, Failed: failed}}}
		if got := checkArms(assertions, []result.Arm{arm})[0].Failures; !slices.Equal(got, want) {
			t.Errorf("with a round that failed with %q the failures are %q, want %q", failed, got, want)
		}
	}
}

// Without its kill, a run would show that a kill costs nothing.
func TestNoAssertionHoldsIfAnEventWasNotPerformed(t *testing.T) {
	assertions, err := parseAssertions([]string{"errors == 0"}, false)
	if err != nil {
		t.Fatal(err)
	}
	kill := result.Event{What: "kill 1", Action: result.ActionKill}
	late := kill
	late.Error = "the load ended before the event"
	arm := result.Arm{Measures: result.Measures{Calls: 10}, Trials: []result.Trial{
		{Round: 1, Events: []result.Event{kill}}, {Round: 2, Events: []result.Event{late}}, {Round: 3, Events: []result.Event{late}},
	}}
	want := []string{"kill 1 was not performed in round 2: the load ended before the event"}
	if got := checkArms(assertions, []result.Arm{arm})[0].Failures; !slices.Equal(got, want) {
		t.Errorf("the failures are %q, want %q", got, want)
	}
}

// The version that calls would fail at did not start, so the one before served them all.
func TestNoAssertionHoldsIfANewVersionDoesNotStart(t *testing.T) {
	assertions, err := parseAssertions([]string{"errors == 0"}, false)
	if err != nil {
		t.Fatal(err)
	}
	roll := result.Event{What: "roll", Action: result.ActionRoll, Unfinished: &result.Unfinished{Done: 0, Of: 3}}
	for _, c := range []struct{ lost, want []string }{
		{nil, nil}, // the load ended first
		{[]string{"server greeter-4 did not start: exit status 1\nits last lines:\n  no licence"}, []string{"roll was not complete in round 2: server greeter-4 did not start: exit status 1"}},
	} {
		arm := result.Arm{Measures: result.Measures{Calls: 10}, Trials: []result.Trial{{Round: 1}, {Round: 2, Events: []result.Event{roll}, Lost: c.lost}}}
		if got := checkArms(assertions, []result.Arm{arm})[0].Failures; !slices.Equal(got, c.want) {
			t.Errorf("with lost backends %q the failures are %q, want %q", c.lost, got, c.want)
		}
	}
}
