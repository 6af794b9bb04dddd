package main

import (
	"errors"
	"io"
	"testing"

	"rpclab/internal/result"
)

// The first round of a search may have failed before it searched.
func TestASearchWhoseFirstRoundFailedReportsNoRate(t *testing.T) {
	arm := result.Arm{Capacity: &result.Capacities{}, Trials: []result.Trial{
		{Failed: "warm-up"}, {Measures: result.Measures{}, Capacity: &result.Capacity{SLO: "p99 < 5ms", End: "from fails"}},
	}}
	if err := reportNoRate(io.Discard, arm); !errors.Is(err, errGate) {
		t.Errorf("%v, want %v", err, errGate)
	}
}
