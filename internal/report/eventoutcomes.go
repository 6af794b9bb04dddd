package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// stays says whether the affected backends remain in service while they fail or are slow, so that
// their share of the calls is of interest.
func (o *eventOutcome) stays() bool {
	return !o.resets && slices.Contains([]result.Action{result.ActionSlow, result.ActionFail, result.ActionPause, result.ActionFlap, result.ActionCut}, o.action)
}

// share is the share of the answered calls that the affected backends answered until the next event;
// "": of no interest.
func (o *eventOutcome) share() string {
	if !o.stays() || o.answered == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(o.byAffected)/float64(o.answered))
}

// policyBehavior says how the load-balancing policy of an arm treats a backend that is slow or fails,
// "": not known.
func policyBehavior(a result.Arm) string {
	spread := policies[a.Policy]
	if a.PickedBy == pickedByKernel && a.Policy == "" {
		spread = "each connection goes to a random backend and stays there, even if that backend is slow or fails"
	}
	settings := a.Settings()
	if settings.Service != "" && a.Policy == weightedRoundRobin {
		spread = weightedOnService
	}
	clauses := filled(spread)
	if spread != "" && settings.Outlier != nil {
		clauses = append(clauses, "outlier detection leaves out backends whose calls fail; it does not see slowness until calls exceed their deadline")
	}
	if settings.Caller.Hedge != nil {
		clauses = append(clauses, "hedging sends a slow call again, mostly to another backend: callers do not wait for the slow backend, but it still receives its calls")
	}
	if retries(settings) {
		clauses = append(clauses, "a retry sends a failed call again, mostly to another backend: it hides failures, but not slowness")
	}
	return strings.Join(clauses, "; ")
}

func retries(s result.Settings) bool {
	return s.Caller.Retry != nil || s.Caller.ServiceConfig.Retries()
}

const (
	weightedRoundRobin = "weighted_round_robin"
	weightedOnService  = "weighted round robin weights backends by the load that the service reports with its responses (ORCA); " +
		"the service does not know of faults that rpclab injects before it, and without reports all backends receive the same number of calls"
)

var policies = map[string]string{
	"round_robin": "round robin gives every backend the same number of calls; " +
		"if calls arrive faster than a backend answers, its queue grows",
	"least_request": "least request picks, of two random backends, the one with fewer calls in flight; " +
		"calls accumulate on a slow backend, so it receives few",
	"least_conn": "least conn picks, of all backends, the one with the fewest calls in flight; " +
		"calls accumulate on a slow backend, so it receives few",
	"random": "random picks a random backend for each call, even if that backend is slow or fails",
	weightedRoundRobin: "weighted round robin weights backends by the load that they report with their answers (ORCA), here calls answered per second " +
		"over calls in flight; a backend that takes ten times as long receives a tenth of the calls after its first slow answers",
	"ring_hash":  "ring hash sends the same key to the same backend, even if that backend is slow or fails",
	"pick_first": "pick first uses one backend until its connection breaks, even if that backend is slow or fails",
}

// eventOutcome is one event of the plan in one arm, over all rounds.
type eventOutcome struct {
	arm     string
	cell    result.Cell
	policy  string // how the arm treats a backend that is slow or fails
	place   int    // of the event in its trial
	what    string
	action  result.Action
	count   int
	resets  bool
	resends bool      // callers send calls again, so a response from one backend does not show that no other was called
	at      []float64 // seconds, of the rounds in which rpclab performed the event
	failed  uint64
	codes   map[string]uint64 // of those
	late    uint64
	// Of the calls due until the next event, answered were answered, and byAffected by the affected
	// backends; fair is the share that those should have.
	answered, byAffected uint64
	fair                 float64
	added, affects       bool             // whether backends became ready, or the event affected any, in any round
	called               *bool            // the affected backends, before the event in any round; nil: not known
	took                 [steps][]float64 // ms in each of those rounds, +Inf if not observed
	unrestored           []result.Took    // of the rounds whose balance was not restored
	unfinished           bool             // in any round, when the load ended
	backendsUnknown      bool             // in any round
	tooShort             bool             // in any round, to tell whether callers avoided the affected backends
	calledUnready        bool             // the client called all added backends while they were not ready, in any round
	errors               []string         // of the rounds in which rpclab did not perform the event
}

// The effects of an event, in the order of the table.
const (
	firstLoss = iota
	proxyReady
	recovered
	avoided
	ready
	resolverUpdated
	firstCall
	balancedAgain
	steps
)

// eventsByArm groups the events by the arm in its cell.
func eventsByArm(d result.Document) map[result.ArmKey][]result.Event {
	all := map[result.ArmKey][]result.Event{}
	for _, e := range d.Events {
		key := result.ArmKey{Name: e.Arm, Cell: e.Cell.Key()}
		all[key] = append(all[key], e)
	}
	return all
}

// eventOutcomes are the events of arms of one cell, in the order of the arms. Events of different
// rounds are the same if they have the same place in the trial, since times differ a little.
func eventOutcomes(arms []result.Arm, events map[result.ArmKey][]result.Event) []*eventOutcome {
	var all []*eventOutcome
	for _, arm := range arms {
		rounds := map[int][]result.Event{}
		for _, e := range events[arm.Key()] {
			rounds[e.Round] = append(rounds[e.Round], e)
		}
		mine, settings := map[int]*eventOutcome{}, arm.Settings()
		for _, round := range slices.Sorted(maps.Keys(rounds)) {
			list := rounds[round]
			slices.SortStableFunc(list, func(a, b result.Event) int { return cmp.Compare(a.AtMS, b.AtMS) })
			for i, e := range list {
				if mine[i] == nil {
					mine[i] = &eventOutcome{arm: arm.Name, cell: arm.Cell, policy: policyBehavior(arm), place: i, what: e.What, action: e.Action, count: e.Count, resets: e.Resets, resends: settings.Caller.Hedge != nil || retries(settings), codes: map[string]uint64{}}
				}
				mine[i].add(e)
			}
		}
		for i := range len(mine) {
			all = append(all, mine[i])
		}
	}
	return all
}

func (o *eventOutcome) add(e result.Event) {
	if e.Error != "" {
		if !slices.Contains(o.errors, e.Error) {
			o.errors = append(o.errors, e.Error)
		}
		return
	}
	o.at = append(o.at, e.AtMS/1000)
	o.failed += e.Failed
	o.late += e.Late
	o.added, o.affects = o.added || e.Added > 0, o.affects || len(e.Affected) > 0
	o.unfinished = o.unfinished || e.Unfinished != nil
	o.tooShort = o.tooShort || e.AvoidedUnknown
	o.backendsUnknown = o.backendsUnknown || e.BackendsUnknown
	o.calledUnready = o.calledUnready || e.CalledUnready
	if e.CalledBefore != nil && (o.called == nil || !*o.called) {
		o.called = e.CalledBefore
	}
	for code, n := range e.Errors {
		o.codes[code] += n
	}
	if e.Ready > 0 {
		o.answered, o.byAffected, o.fair = o.answered+e.Answered, o.byAffected+e.AnsweredByAffected, float64(len(e.Affected))/float64(e.Ready)
	}
	for step, v := range [steps]*float64{e.Took.FirstLoss, e.Took.ProxyReady, e.Took.Recovered, e.Took.Avoided, e.Took.EndpointReady, e.Took.ResolverUpdated, e.Took.FirstCall, e.Took.BalanceRestored} {
		seen := math.Inf(1)
		switch {
		case v != nil:
			seen = *v
		case step == firstCall && needsNone(e):
			continue
		}
		o.took[step] = append(o.took[step], seen)
	}
	if e.Took.BalanceNote != "" && e.Took.BalanceRestored == nil {
		o.unrestored = append(o.unrestored, e.Took)
	}
}

// isPerformed reports whether rpclab performed the event in any round.
func (o *eventOutcome) isPerformed() bool { return len(o.at) > 0 }

// needsNone reports whether the client of an event needed no new backend: it did not call the affected ones, or it called those
// that became ready all the time.
func needsNone(e result.Event) bool {
	return e.CalledUnready || e.CalledBefore != nil && !*e.CalledBefore
}

// typical is the time in ms from the event to an effect, the median over rounds; +Inf: not observed.
func (o *eventOutcome) typical(step int) float64 {
	if len(o.took[step]) == 0 {
		return math.Inf(1)
	}
	return median(o.took[step])
}

// whyUnknown is what the table shows in place of a time that was not observed because nothing could show it; "": it could.
func (o *eventOutcome) whyUnknown(step int) string {
	switch {
	case step != avoided || !math.IsInf(o.typical(step), 1):
		return ""
	case o.unfinished:
		return notComplete
	case o.tooShort:
		return tooShort
	}
	return ""
}

// isUntouched reports whether an arm whose recovery was not observed had nothing to recover from.
func (o *eventOutcome) isUntouched() bool {
	switch {
	case o.failed > 0:
		return false
	case o.called != nil:
		return !*o.called || o.resets && o.answered > 0 // a reset costs nothing but calls
	}
	return o.byAffected == 0 && o.late == 0 // of an older result, or an event on a proxy
}

// lossColumn is the column of avoided after a reset, whose backends callers continue to call.
const lossColumn = "no loss"

func (o *eventOutcome) columnOfAvoided() string {
	if o.resets {
		return lossColumn
	}
	return "avoided"
}

// fromOthers is what avoided shows of callers that send calls again: the affected backends may still receive calls.
const fromOthers = "responses came from other backends"

func places(all []*eventOutcome) int {
	last := 0
	for _, h := range all {
		last = max(last, h.place+1)
	}
	return last
}

// countedEvery is the interval of a timeline in ms, the resolution of times that are counted.
const countedEvery = 100

func tookText(step int, took float64) string {
	counted := step == balancedAgain || step == avoided || step == firstLoss || step == recovered
	switch {
	case math.IsInf(took, 1):
		return none
	case counted && took <= countedEvery:
		return "≤ " + number(countedEvery)
	case counted:
		return number(took)
	}
	return ms(took)
}
