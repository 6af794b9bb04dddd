package e2e

import (
	"testing"

	"rpclab/internal/result"
)

// shareOfNewBackends returns the share of calls that backends added during the load answered.
func shareOfNewBackends(a result.Arm) float64 {
	first := map[string]bool{"greeter-0": true, "greeter-1": true, "greeter-2": true}
	var all, theirs uint64
	for id, calls := range a.Backends {
		all += calls
		if !first[id] {
			theirs += calls
		}
	}
	return float64(theirs) / float64(max(all, 1))
}

func TestOnlyNewStreamsReachNewBackends(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) { newStreams(t, try, wrong) })
}

// newStreams allows that a busy machine starts new backends late and breaks streams.
func newStreams(t *testing.T, try int, wrong func(format string, args ...any)) {
	d, s := quickTry(t, "long-streams", try)
	s.promptly(wrong)
	renewed := shareOfNewBackends(arm(t, d, "renewed"))
	for _, c := range []struct {
		arm    string
		follow bool // new backends receive calls
		fails  bool
	}{
		{"unary", true, false},
		{"streams", false, false},
		{"aged", false, false},
		{"cut", true, true},
		{"renewed", true, false},
		{"cut-clusterip", false, true}, // all calls go to one backend at a time
	} {
		a := arm(t, d, c.arm)
		share := shareOfNewBackends(a)
		if c.follow && share < 0.1 {
			wrong("%s: new backends answered %.0f %%, want at least 10 %%: %v", c.arm, 100*share, a.Backends)
		}
		// A stall may open more streams, which start at new backends.
		if !c.follow && c.arm != "cut-clusterip" && share > renewed/2 {
			wrong("%s: new backends answered %.0f %%, want at most half of the %.0f %% of renewed streams", c.arm, 100*share, 100*renewed)
		}
		if failed := a.Errors["UNAVAILABLE"] > 0; failed != c.fails || !c.fails && len(a.Errors) > 0 {
			wrong("%s: errors %v, want UNAVAILABLE: %v", c.arm, a.Errors, c.fails)
		}
	}
}
