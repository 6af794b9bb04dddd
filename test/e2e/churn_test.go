package e2e

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// events returns one event of every trial of an arm.
func events(d result.Document, arm, what string) []result.Event {
	var all []result.Event
	for _, e := range d.Events {
		if e.Arm == arm && e.What == what {
			all = append(all, e)
		}
	}
	return all
}

// lags returns the times from the endpoint update to the resolver update.
func lags(events []result.Event, wrong func(format string, args ...any)) []float64 {
	var all []float64
	for _, e := range events {
		if e.Took.EndpointReady == nil || e.Took.ResolverUpdated == nil {
			wrong("%s of round %d: endpoint ready %v, resolver updated %v", e.What, e.Round, e.Took.EndpointReady, e.Took.ResolverUpdated)
			continue
		}
		all = append(all, *e.Took.ResolverUpdated-*e.Took.EndpointReady)
	}
	slices.Sort(all)
	return all
}

func TestQuickChurnComparesAllRoutes(t *testing.T) {
	t.Parallel()
	quickly(t, "churn")
	d, _ := quick(t, "churn")
	if len(d.Arms) < 5 || len(d.Events) != 3*len(d.Arms) {
		t.Errorf("%d arms with %d events, want at least 5 with 3 each", len(d.Arms), len(d.Events))
	}
}

// TestAWatchingClientDiscoversBackendsAtOnce gives processes more time to start than --quick does,
// because other tests share the machine.
func TestAWatchingClientDiscoversBackendsAtOnce(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { follows(t, wrong) })
}

func follows(t *testing.T, wrong func(format string, args ...any)) {
	d, _ := document(t, "churn", "--quick", "--rounds", "3", "--arms", "endpointslice",
		"--set", "load.open.duration=9s", "--set", "events=[{at: 500ms, scale: 10}, {at: 4s, kill: 1}, {at: 7s, scale: 2}]")
	for _, what := range []string{"scale 10", "kill 1", "scale 2"} {
		lag := lags(events(d, "endpointslice", what), wrong)
		if len(lag) != 3 || lag[1] > 500 {
			wrong("%s: the resolver was updated %v ms after the endpoints, want a median of at most 500 ms", what, lag)
		}
	}
	for _, what := range []string{"scale 10", "kill 1", "scale 2"} {
		for _, e := range events(d, "endpointslice", what) {
			var ready float64 // excludes the time that backends take to start
			if e.Took.EndpointReady != nil {
				ready = *e.Took.EndpointReady
			}
			if e.Took.BalanceRestored == nil || *e.Took.BalanceRestored-ready > 2000 {
				wrong("%s: %+v, want balance within 2 s after backends are ready", what, e.Took)
			}
		}
	}
	for _, e := range events(d, "endpointslice", "scale 2") {
		if e.Failed != 0 {
			lost(t, d, wrong)("round %d: %d calls failed when backends drained", e.Round, e.Failed)
		}
	}
	for _, e := range events(d, "endpointslice", "scale 10") {
		if e.Failed != 0 {
			lost(t, d, wrong)("round %d: %d calls failed on scale-up", e.Round, e.Failed)
		}
		if e.Took.FirstCall == nil {
			wrong("round %d: no new backend answered", e.Round)
		}
	}
}

// TestDNSIsResolvedAgainAfterThirtySeconds runs for longer than the 30 s that grpc-go's dns resolver
// waits between two resolutions.
func TestDNSIsResolvedAgainAfterThirtySeconds(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) {
		d, _ := document(t, "churn", "--quick", "--arms", "headless",
			"--set", "load.open.duration=33s", "--set", "events=[{at: 2s, scale: 10}, {at: 12s, kill: 1}]")
		if len(d.Events) != 2 {
			t.Errorf("%d events, want 2", len(d.Events))
		}
		for _, e := range events(d, "headless", "scale 10") {
			if e.Took.ResolverUpdated != nil || e.Took.FirstCall != nil {
				wrong("headless discovered new backends after %v ms, want never", e.Took.ResolverUpdated)
			}
		}
		for _, e := range events(d, "headless", "kill 1") {
			// The client resolved before the load, whose start waits on a busy machine: at least 12 s
			// before the kill.
			if e.Took.ResolverUpdated == nil || *e.Took.ResolverUpdated < 5_000 || *e.Took.ResolverUpdated > 20_000 {
				wrong("headless resolved again %v ms after the kill, want at most 18 s", e.Took.ResolverUpdated)
			}
		}
	})
}

func TestChurnReportShowsATimelineAndReasons(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		_, s := quickTry(t, "churn", try)
		text := strings.Join(strings.Fields(s.stdout), " ")
		// An event waits for the one before it to be complete, so the last has no fixed time.
		for _, want := range []string{"scale 10, at 0.2 s", "kill 1, at 1.5 s", "scale 2, at ", "at the earliest 30 s after it last did", "█"} {
			if !strings.Contains(text, want) {
				wrong("the report lacks %q:\n%s", want, s.stdout)
			}
		}
	})
}
