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
