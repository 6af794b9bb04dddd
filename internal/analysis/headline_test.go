package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestEveryMetricOfAnExperimentHasAVerdictMetric(t *testing.T) {
	names := []string{"failed", "followed", "p50", "p999", "elapsed", "client_cpu"}
	got := strings.Join(MetricNames(names), " ")
	if want := "failed followed latency_p50 latency_p999 elapsed client_cpu"; got != want {
		t.Errorf("the verdict metrics are %s, want %s", got, want)
	}
}

// headlines returns the headline verdicts on the arm other, by metric.
func headlinesOf(d result.Document) map[string]result.Verdict {
	all := map[string]result.Verdict{}
	for _, v := range Assemble(d).Verdicts {
		if v.A == "other" && !v.Secondary {
			all[v.Metric] = v
		}
	}
	return all
}

func TestTheNextHeadlineIsTestedWhereTheOneBeforeIsSettled(t *testing.T) {
	notTested := result.Cause{Kind: result.CauseNotTested, Metric: "elapsed"}
	for name, c := range map[string]struct {
		elapsed []float64 // of the arm other; its CPU time is its latency
		want    string    // of client_cpu
	}{
		"worse before":      {[]float64{20, 20, 20, 20}, "worse"},
		"equivalent before": {[]float64{10, 10, 10, 10}, "worse"},
		"no value before":   {[]float64{20, 20, 20, 0}, "worse"}, // more rounds would not give it
		"undecided before":  {[]float64{5, 20, 9, 14}, "undecided"},
	} {
		d := arms(t, 20, 20, 20, 20)
		d.Headline = []string{"elapsed", "client_cpu"}
		for i := range c.elapsed {
			d.Arms[0].Trials[i].ElapsedMS = 10
			d.Arms[1].Trials[i].ElapsedMS = c.elapsed[i]
		}
		all := headlinesOf(d)
		v := all["client_cpu"]
		if v.Decision != c.want || len(all) != 2 || v.Level != 0.95 {
			t.Errorf("%s: client_cpu is %s (%s) at the level %g, want %s at 0.95; elapsed is %s", name, v.Decision, v.Reason, v.Level, c.want, all["elapsed"].Decision)
		}
		if c.want == "undecided" && (v.Cause == nil || *v.Cause != notTested || v.Reason != "not tested: elapsed is not settled" || v.Unfit || v.CI[0] == 0) {
			t.Errorf("%s: %q, %+v, interval %g; want %+v, and the interval", name, v.Reason, v.Cause, v.CI, notTested)
		}
	}
}

// Each family has 5 %: the pairs of the question, the controls with all of their metrics, and confounds.
func TestControlsAndConfoundsHaveAnErrorOfTheirOwn(t *testing.T) {
	d := arms(t, 20, 20, 20, 20)
	again, published := d.Arms[0], d.Arms[1]
	again.Name, again.Control, published.Name = "again", "base", "published"
	d.Arms = append(d.Arms, again, published)
	d.Confounds = []result.Confound{{Published: "published", Controlled: "other"}}
	for _, v := range Assemble(d).Verdicts {
		share := map[result.VerdictKind]float64{result.OfBaseline: 2, result.OfControl: 2, result.OfConfound: 1}[v.Kind]
		if v.Kind == result.OfControl && v.Secondary {
			share = 1
		}
		if want := 1 - 0.05/share; math.Abs(v.Level-want) > 1e-9 {
			t.Errorf("%s of %s against %s (%s) has the level %g, want %g", v.Metric, v.A, v.B, v.Kind, v.Level, want)
		}
	}
}

// losing is a document of two arms with the given counts of failed calls of 20,000 in each round.
func losing(base, other []uint64) result.Document {
	d := result.Document{Baseline: "base", Headline: []string{"failed", "followed"}, Arms: []result.Arm{{Name: "base"}, {Name: "other"}}}
	for i, failed := range [][]uint64{base, other} {
		for round, n := range failed {
			d.Arms[i].Trials = append(d.Arms[i].Trials, result.Trial{Round: round + 1, Measures: result.Measures{Calls: 20_000, Errors: map[string]uint64{"UNAVAILABLE": n}}})
		}
	}
	return d
}

func TestFailedCallsAreComparedTrialByTrial(t *testing.T) {
	none := []uint64{0, 0, 0, 0}
	for name, c := range map[string]struct {
		base, other    []uint64
		want, because  string
		rounds, needed float64
	}{
		"every trial":     {[]uint64{412, 398, 405, 420}, none, "better", "", 0, 0},
		"the other way":   {none, []uint64{412, 398, 405, 420}, "worse", "", 0, 0},
		"a single round":  {[]uint64{412}, []uint64{0}, "undecided", "1 round; at least 4 are needed", 1, 4},
		"one trial alone": {[]uint64{1648, 0, 0, 0}, none, "undecided", "the difference may be zero", 0, 0},
		"none in both":    {none, none, "", "", 0, 0},
	} {
		v := headlinesOf(losing(c.base, c.other))["failed"]
		if v.Decision != c.want || !strings.Contains(v.Reason, c.because) || v.Unfit {
			t.Errorf("%s: %s, %s; want %s, %s", name, v.Decision, v.Reason, c.want, c.because)
		}
		if c.needed > 0 && (v.Cause.Have != c.rounds || v.Cause.Needed != c.needed) {
			t.Errorf("%s: the cause is %+v, want %g of %g rounds", name, *v.Cause, c.rounds, c.needed)
		}
	}
}

// Five pairs have a hundredth each, which four rounds cannot reach by the order of trials.
func TestFiveArmsNeedFiveRoundsOfFailedCalls(t *testing.T) {
	for rounds, want := range map[int]string{4: "undecided", 5: "better"} {
		failed := []uint64{412, 398, 405, 420, 401}[:rounds]
		d := losing(failed, make([]uint64, rounds))
		for i := range 4 {
			arm := d.Arms[1]
			arm.Name = fmt.Sprintf("other%d", i)
			d.Arms = append(d.Arms, arm)
		}
		if v := headlinesOf(d)["failed"]; v.Decision != want {
			t.Errorf("%d rounds: %s, %s; want %s", rounds, v.Decision, v.Reason, want)
		}
	}
}

// following sets the times in ms until a trial's calls reached new backends; 0: never.
func following(arm *result.Arm, times ...float64) {
	for i, took := range times {
		e := result.Event{What: "scale 10", Action: result.ActionScale, Count: 10, Added: 7}
		if took > 0 {
			e.Took.FirstCall = &took
		}
		removal := result.Event{What: "scale 2", Action: result.ActionScale, Count: 2} // no backend is added
		arm.Trials[i].Events = []result.Event{e, removal}
	}
}

// An event that replaced a backend that the client did not call needs no new connection, so it shows nothing of when the
// client calls new backends.
func TestAnEventThatDidNotAffectTheClientHasNoTimeToFollow(t *testing.T) {
	roll := result.Event{What: "roll", Action: result.ActionRoll, Added: 3, CalledBefore: new(true)}
	roll.Took.FirstCall = new(616.0)
	kill := func(called bool) result.Event {
		return result.Event{What: "kill 1", Action: result.ActionKill, Added: 1, CalledBefore: &called}
	}
	for name, c := range map[string]struct {
		events []result.Event
		want   float64
	}{
		"with one it followed": {[]result.Event{roll, kill(false)}, 616},
		"alone":                {[]result.Event{kill(false)}, math.NaN()},
		"affected":             {[]result.Event{roll, kill(true)}, math.Inf(1)},
	} {
		if got := followed(result.Trial{Events: c.events}); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %g ms, want %g", name, got, c.want)
		}
	}
}

// A trial whose kill failed loses no call by it.
func TestAnEventThatWasNotPerformedBarsVerdicts(t *testing.T) {
	d := losing([]uint64{412, 398, 405, 420, 401}, make([]uint64, 5))
	if v := headlinesOf(d)["failed"]; v.Decision != "better" {
		t.Fatalf("with the event: %s, %s; want better", v.Decision, v.Reason)
	}
	d.Arms[1].Trials[2].Events = []result.Event{{What: "kill 1", Action: result.ActionKill, Error: "the API refused it"}}
	v := headlinesOf(d)["failed"]
	want := "kill 1 was not performed in round " + fmt.Sprint(d.Arms[1].Trials[2].Round) + " of " + d.Arms[1].Name + ": the API refused it"
	if v.Decision != "undecided" || !v.Unfit || v.Reason != want || v.Cause.Kind != result.CauseEvent {
		t.Errorf("%s, unfit %v, %q, cause %+v; want undecided: %s", v.Decision, v.Unfit, v.Reason, v.Cause, want)
	}
}

func TestTimesToFollowAreComparedByTheirOrder(t *testing.T) {
	none := []uint64{0, 0, 0, 0}
	for name, c := range map[string]struct {
		base, other []float64
		want        string
		bound       result.RatioBound
	}{
		"sooner":         {[]float64{900, 950, 910, 930}, []float64{200, 210, 190, 205}, "better", ""},
		"never":          {[]float64{0, 0, 0, 0}, []float64{200, 210, 190, 205}, "better", result.UpperBound},
		"never in both":  {[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, "", ""},
		"sometimes":      {[]float64{0, 200, 0, 190}, []float64{200, 210, 190, 205}, "undecided", result.UpperBound},
		"never to never": {[]float64{200, 210, 190, 205}, []float64{0, 0, 0, 0}, "worse", result.LowerBound},
	} {
		d := losing(none, none)
		following(&d.Arms[0], c.base...)
		following(&d.Arms[1], c.other...)
		v := headlinesOf(d)["followed"]
		if v.Decision != c.want || v.Bound != c.bound {
			t.Errorf("%s: %s, bound %q (%s); want %s, %q", name, v.Decision, v.Bound, v.Reason, c.want, c.bound)
		}
	}
}

// A rotation is exact in every round. That another arm balances calls by chance says nothing about it.
func TestNoiseOfOthersDoesNotWidenBalance(t *testing.T) {
	arm := func(name string, jains ...float64) result.Arm {
		a := result.Arm{Name: name}
		for i, jain := range jains {
			a.Trials = append(a.Trials, result.Trial{Round: i + 1, Measures: result.Measures{Backends: map[string]uint64{"a": 1, "b": 1}, Balance: result.Balance{Jain: jain}}})
		}
		return a
	}
	d := result.Document{Baseline: "even", Headline: []string{"balance"}, Margin: 0.03, Arms: []result.Arm{
		arm("even", 1, 1, 1, 1), arm("also-even", 1, 1, 1, 1), arm("by-chance", 0.7, 0.95, 0.99, 0.8),
	}}
	for _, v := range verdicts(d) {
		if want := map[string]string{"also-even": "equivalent", "by-chance": "undecided"}[v.A]; v.Metric == "balance" && v.Decision != want {
			t.Errorf("%s is %s (%v): want %s", v.A, v.Decision, v.CI, want)
		}
	}
}
