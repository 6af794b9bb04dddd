package e2e

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// events are what came of one event in every trial of an arm.
func events(d result.Document, arm, what string) []result.Event {
	var all []result.Event
	for _, e := range d.Events {
		if e.Arm == arm && e.What == what {
			all = append(all, e)
		}
	}
	return all
}

// lags are the times from the endpoint update to the moment the client was told.
func lags(events []result.Event, wrong func(format string, args ...any)) []float64 {
	var all []float64
	for _, e := range events {
		if e.Took.EndpointReady == nil || e.Took.ClientTold == nil {
			wrong("%s of round %d: endpoint ready %v, client told %v", e.What, e.Round, e.Took.EndpointReady, e.Took.ClientTold)
			continue
		}
		all = append(all, *e.Took.ClientTold-*e.Took.EndpointReady)
	}
	slices.Sort(all)
	return all
}

func TestChurnMadeSmallComparesAllRoutes(t *testing.T) {
	d, s := document(t, "churn", "--quick", "--rounds", "1")
	s.promptly(t)
	if len(d.Arms) < 5 || len(d.Events) != 3*len(d.Arms) {
		t.Errorf("%d arms with %d events in all", len(d.Arms), len(d.Events))
	}
}

// TestAClientThatWatchesFollowsAtOnceAndLosesNoCall gives eight processes more time to start
// than --quick does, which needs a machine of its own for that.
func TestAClientThatWatchesFollowsAtOnceAndLosesNoCall(t *testing.T) {
	undisturbed(t, func(wrong func(format string, args ...any)) { follows(t, wrong) })
}

func follows(t *testing.T, wrong func(format string, args ...any)) {
	d, _ := document(t, "churn", "--quick", "--rounds", "5", "--arms", "endpointslice",
		"--set", "load.open.duration=9s", "--set", "events=[{at: 500ms, scale: 10}, {at: 4s, kill: 1}, {at: 7s, scale: 2}]")
	for _, what := range []string{"scale 10", "kill 1", "scale 2"} {
		lag := lags(events(d, "endpointslice", what), wrong)
		if len(lag) != 5 || lag[2] > 500 {
			wrong("%s: the client was told %v ms after the endpoints changed; 500 at the median are allowed, of a busy machine", what, lag)
		}
	}
	for _, e := range events(d, "endpointslice", "scale 2") {
		if e.Failed != 0 {
			t.Errorf("round %d: %d calls failed when backends drained", e.Round, e.Failed)
		}
	}
	for _, e := range events(d, "endpointslice", "scale 10") {
		if e.Failed != 0 {
			t.Errorf("round %d: %d calls failed on scale-up", e.Round, e.Failed)
		}
		if e.Took.FirstCall == nil {
			wrong("round %d: no new backend answered", e.Round)
		}
	}
}

// TestDNSIsAskedAgainAfterThirtySeconds runs the real thing for 46 s: grpc-go's dns
// resolver does not look again within 30 s, and the result has to show it.
func TestDNSIsAskedAgainAfterThirtySeconds(t *testing.T) {
	d, _ := document(t, "churn", "--rounds", "1", "--arms", "headless,endpointslice")
	for _, e := range events(d, "headless", "scale 10") {
		if e.Took.ClientTold != nil || e.Took.FirstCall != nil {
			t.Errorf("headless heard of new backends after %v ms; nothing tells it", e.Took.ClientTold)
		}
	}
	for _, e := range events(d, "headless", "kill 1") {
		// The first look was at the start, the kill came 12 s later.
		if e.Took.ClientTold == nil || *e.Took.ClientTold < 15_000 || *e.Took.ClientTold > 20_000 {
			t.Errorf("headless heard of the kill after %v ms; 30 s after its first look is 18 s after it", e.Took.ClientTold)
		}
	}
	for _, what := range []string{"scale 10", "kill 1", "scale 2"} {
		for _, e := range events(d, "endpointslice", what) {
			var ready float64 // how long backends take to start is the machine's matter
			if e.Took.EndpointReady != nil {
				ready = *e.Took.EndpointReady
			}
			if e.Took.BalanceRestored == nil || *e.Took.BalanceRestored-ready > 2000 {
				t.Errorf("endpointslice, %s: %+v: balance is to be restored within 2 s of when backends are ready", what, e.Took)
			}
		}
	}
}

func TestTheChurnReportShowsATimelineAndSaysWhy(t *testing.T) {
	s := rpclab(t, "run", "churn", "--quick", "--rounds", "1", "--arms", "headless,endpointslice")
	text := strings.Join(strings.Fields(s.stdout), " ")
	for _, want := range []string{"scale 10, after", "kill 1, after", "scale 2, after", "at the earliest 30 s after it last did", "█"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, s.stdout)
		}
	}
}
