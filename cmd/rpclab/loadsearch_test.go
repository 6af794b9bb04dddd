package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// One round in which the objective held was enough for exit code 0, whatever the others had found.
func TestASearchHoldsIfMostOfItsRoundsDo(t *testing.T) {
	held, missed, limited := result.Capacity{SLO: "p99 < 5ms", Holds: 500, Rate: 510}, result.Capacity{SLO: "p99 < 5ms", End: "from fails"}, result.Capacity{SLO: "p99 < 5ms", End: "generator"}
	for _, c := range []struct {
		rounds []result.Capacity
		gate   bool
		says   string // of the error or the line; empty: the search holds
	}{
		{[]result.Capacity{held, held, missed}, false, ""},
		{[]result.Capacity{held, missed, missed}, true, "--search p99 < 5ms: no rate holds in 2 of 3 rounds\n"},
		{[]result.Capacity{held, missed}, true, "no rate holds in 1 of 2 rounds\n"},
		{[]result.Capacity{missed, missed}, true, "no rate holds\n"},
		{[]result.Capacity{held, limited}, false, "the search found no rate that holds in 1 of 2 rounds: the report says why"},
	} {
		arm := result.Arm{Capacity: &result.Capacities{}}
		for i := range c.rounds {
			arm.Trials = append(arm.Trials, result.Trial{Round: i + 1, Capacity: &c.rounds[i]})
		}
		var out strings.Builder
		err := reportNoRate(&out, arm)
		said := out.String()
		if err != nil {
			said += err.Error()
		}
		if errors.Is(err, errGate) != c.gate || (err == nil) != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%+v: %q, %v; want %q, as of a gate: %v", c.rounds, out.String(), err, c.says, c.gate)
		}
	}
}

// The first round of a search may have failed before it searched.
func TestASearchWhoseFirstRoundFailedReportsNoRate(t *testing.T) {
	arm := result.Arm{Capacity: &result.Capacities{}, Trials: []result.Trial{
		{Failed: "warm-up"}, {Measures: result.Measures{}, Capacity: &result.Capacity{SLO: "p99 < 5ms", End: "from fails"}},
	}}
	if err := reportNoRate(io.Discard, arm); !errors.Is(err, errGate) {
		t.Errorf("%v, want %v", err, errGate)
	}
}
