package main

import (
	"errors"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// A gate that compared nothing shows nothing, so it is not green.
func TestGatesWithoutAComparisonAreUndecided(t *testing.T) {
	for undecided, want := range map[string]error{undecidedFails: errGate, undecidedPasses: nil} {
		var out strings.Builder
		err := gateFlags{texts: []string{"p50 ratio < 1.1"}, undecided: undecided}.reportGates(&out, result.Comparison{})
		if !errors.Is(err, want) || !strings.Contains(out.String(), "0 passed, 0 failed, 1 undecided") {
			t.Errorf("--undecided %s: the error is %v, want %v\n%s", undecided, err, want, out.String())
		}
	}
}

// The first run has nothing to compare with, and passes. One that measured nothing would be the run with which gates compare
// the next.
func TestARunWithoutACallPassesNoGate(t *testing.T) {
	g := runGates{gateFlags: gateFlags{texts: []string{"p50 ratio < 1.1"}, undecided: undecidedFails}, against: againstLast}
	var err error
	if g.gates, err = g.parse(); err != nil {
		t.Fatal(err)
	}
	one := result.Arm{Name: "one", Trials: []result.Trial{{Round: 1, Failed: "the server did not start"}}}
	for calls, want := range map[uint64]result.Conditions{0: result.ConditionsFailed, 5: result.ConditionsPassed} {
		one.Calls = calls
		if got := g.addTo(result.Document{Arms: []result.Arm{one}}, result.Comparison{}).Conditions; got != want {
			t.Errorf("a run of %d calls has %s, want %s", calls, got, want)
		}
	}
	none := runGates{gateFlags: gateFlags{undecided: undecidedFails}}
	if got := none.addTo(result.Document{Arms: []result.Arm{{Name: "one"}}}, result.Comparison{}).Conditions; got != "" {
		t.Errorf("a run without calls, assertions and gates has %s, want no outcome", got)
	}
}

// A document of someone else must not command the terminal.
func TestLinesOfGatesHaveNoControlCharacters(t *testing.T) {
	const escape = "\x1b]0;owned\a"
	c := result.Comparison{
		Gates:   []result.GateResult{{Gate: "p50 ratio < 1.1", Arm: escape, Outcome: "not established", Reason: escape}, {Gate: "p50 ratio < 1.1", Arm: escape, Outcome: "failed"}},
		Refused: []result.Refusal{{Arm: escape, Cell: result.Cell{"load.rate": escape}, Reason: escape}},
	}
	var out strings.Builder
	err := gateFlags{texts: []string{"p50 ratio < 1.1"}, undecided: undecidedFails}.reportGates(&out, c)
	failures := reportFailures(&out, []result.Assertion{{Arm: escape, Failures: []string{escape}}}, 2)
	if !errors.Is(err, errGate) || !errors.Is(failures, errGate) || strings.ContainsAny(out.String(), "\x1b\a") {
		t.Errorf("%v, %v, and the lines are %q", err, failures, out.String())
	}
}
