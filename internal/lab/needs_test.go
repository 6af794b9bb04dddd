package lab

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"rpclab/experiments"
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// channels returns what a plan of the built-in experiment needs.
func channels(t *testing.T, o experiment.Options) result.Plan {
	t.Helper()
	return planned(t, "channels", o)
}

// planned returns what a plan of a built-in experiment needs.
func planned(t *testing.T, name string, o experiment.Options) result.Plan {
	t.Helper()
	return planOf(t, name, o).Needs(result.Plan{})
}

func planOf(t *testing.T, name string, o experiment.Options) Plan {
	t.Helper()
	file, doc, err := experiments.Open(name)
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
	return plan
}

// The control of channels and the pair of its confound are families of their own.
func TestAPlanCountsThePairsThatShareTheError(t *testing.T) {
	for pairs, o := range map[int]experiment.Options{20: {}, 5: {Quick: true}, 4: {Arms: []string{"shared", "shared-again", "pool"}}} {
		if got := channels(t, o).Pairs; got != pairs {
			t.Errorf("%+v: %d pairs share the error, want %d", o, got, pairs)
		}
	}
}

// Failed calls are compared by rank, which takes the more rounds the more pairs there are.
func TestAPlanSaysHowManyRoundsAVerdictNeeds(t *testing.T) {
	for name, want := range map[string]int{"channels": 1, "contracts": 5, "rollout": 6, "policies": 4, "budget": 4} {
		p := planned(t, name, experiment.Options{})
		if p.RoundsForVerdict != want {
			t.Errorf("%s: %d rounds, want %d", name, p.RoundsForVerdict, want)
		}
		byRank := map[string][]string{"contracts": {"failed"}, "rollout": {"failed"}, "policies": {"failed"}}[name]
		if !slices.Equal(p.ByRank, byRank) || len(p.Headline) == 0 {
			t.Errorf("%s: %v are compared by rank of %v, want %v", name, p.ByRank, p.Headline, byRank)
		}
	}
}

// The trials of policies --quick have 300 calls, and p99 needs 1,000: only failed calls can have verdicts.
func TestRoundsForVerdictLeaveOutPercentilesOfTooFewCalls(t *testing.T) {
	for name, c := range map[string]struct {
		o      experiment.Options
		rounds int
		few    []string
	}{
		"policies":    {experiment.Options{Quick: true}, 6, []string{"latency_p99"}},
		"budget":      {experiment.Options{Quick: true}, 4, nil},
		"proxy-tax":   {experiment.Options{Quick: true}, 1, nil},
		"three calls": {experiment.Options{Set: []string{"load.burst=3", "design=isolated"}}, 4, []string{"latency_p50", "latency_p99"}},
	} {
		experimentName := map[string]string{"three calls": "channels"}[name]
		p := planned(t, cmp.Or(experimentName, name), c.o)
		if p.RoundsForVerdict != c.rounds || !slices.Equal(p.TooFewCalls, c.few) {
			t.Errorf("%s: a verdict needs %d rounds, and %v have too few calls; want %d and %v", name, p.RoundsForVerdict, p.TooFewCalls, c.rounds, c.few)
		}
	}
}

func TestAPlanNamesTheProxiesThatThePlatformLacks(t *testing.T) {
	find := func(t tool.Tool) (string, error) {
		return "", map[string]error{"envoy": fmt.Errorf("envoy is %w", tool.ErrUnavailable), "nginx": fmt.Errorf("nginx is %w", tool.ErrMissing)}[t.Name]
	}
	missing, unavailable := lacking(tool.All(), find)
	if !slices.Equal(missing, []string{"nginx"}) || !slices.Equal(unavailable, []string{"envoy"}) {
		t.Errorf("missing %v, unavailable %v; want nginx, and envoy", missing, unavailable)
	}
}

// The delay of the servers is the least time of a burst.
func TestAPlanHasTheLoadsOfEachRound(t *testing.T) {
	loads := channels(t, experiment.Options{Arms: []string{"shared", "pool"}}).Loads
	want := result.LoadTime{Arm: "shared", Cell: result.Cell{"load.burst": 1000}.Key(), LeastMS: 500, Calls: 1000, Turns: 1, Trials: 1}
	if len(loads) != 8 || loads[0] != want {
		t.Errorf("%d loads, first %+v; want 8, first %+v", len(loads), loads[0], want)
	}
}

// A look costs error, so none comes before the failed calls of all pairs can have verdicts.
func TestTheFirstLookIsNotBeforeRanksCanDecide(t *testing.T) {
	for _, name := range []string{"churn", "contracts", "limits", "long-streams", "rollout"} {
		for what, o := range map[string]experiment.Options{"all rounds": {MaxRounds: 100}, "a time limit": {For: 10 * time.Hour}, "two arms": {For: 10 * time.Hour, Arms: armsOf(t, name)[:2]}} {
			o.UntilDecided = true
			plan := planOf(t, name, o)
			needed := plan.Needs(result.Plan{}).RoundsForVerdict
			if len(plan.Looks) < 2 || plan.Looks[0] < needed || o.For > 0 && plan.Looks[0] > needed {
				t.Errorf("%s, %s: looks after %v rounds, want the first after the %d that a verdict needs", name, what, plan.Looks, needed)
			}
		}
	}
}

// TestPlansGrowLinearly allows eight times the cells 10 times the allocations. Quadratic code takes 64 times.
func TestPlansGrowLinearly(t *testing.T) {
	cost := func(cells int) float64 {
		sweep := "[1"
		for n := 2; n <= cells; n++ {
			sweep += fmt.Sprintf(", %d", n)
		}
		o := experiment.Options{Set: []string{"sweep.load.burst=" + sweep + "]"}, Arms: []string{"shared", "pool"}}
		return testing.AllocsPerRun(1, func() {
			if p := planned(t, "channels", o); len(p.Loads) != 2*cells || p.Loads[cells].Trials != 1 {
				t.Fatalf("%d loads, want two of each of %d cells, once in a round", len(p.Loads), cells)
			}
		})
	}
	few, many := cost(20), cost(160)
	if many > 10*few {
		t.Errorf("a plan of 20 cells allocates %.0f times and of 160 cells %.0f times, want at most 10 times as often", few, many)
	}
}

func armsOf(t *testing.T, name string) (arms []string) {
	t.Helper()
	file, doc, err := experiments.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := experiment.Read(file, doc, Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range e.Arms {
		arms = append(arms, a.Name)
	}
	return arms
}
