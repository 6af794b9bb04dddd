package lab

import (
	"testing"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// The control of channels and the pair of its confound are families of their own.
func TestAPlanCountsThePairsThatShareTheError(t *testing.T) {
	for pairs, o := range map[int]experiment.Options{20: {}, 5: {Quick: true}, 4: {Arms: []string{"shared", "shared-again", "pool"}}} {
		file, doc, err := experiments.Open("channels")
		if err != nil {
			t.Fatal(err)
		}
		expanded, err := experiment.Expand(file, doc, o, Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Resolve(expanded)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Needs(result.Plan{}).Pairs; got != pairs {
			t.Errorf("%+v: %d pairs share the error, want %d", o, got, pairs)
		}
	}
}
