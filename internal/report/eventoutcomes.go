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

// stays says whether the backends that an event hits are there as before and yet not, so
// that a share of calls on them says something.
func (h *eventOutcome) stays() bool {
	return !h.resets && slices.Contains([]result.Action{result.ActionSlow, result.ActionFail, result.ActionPause, result.ActionFlap, result.ActionCut}, h.action)
}

// share is what the backends hit answered of the calls due until the next event; "" where
// that says nothing.
func (h *eventOutcome) share() string {
	if !h.stays() || h.answered == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(h.byHit)/float64(h.answered))
}

// policyBehavior says what the way in which an arm spreads calls does with a backend that is
// slow or fails, "" where nothing is known of it.
func policyBehavior(a result.Arm) string {
	spread := policies[a.Policy]
	if a.PickedBy == pickedByKernel && a.Policy == "" {
		spread = "a connection goes to a backend drawn at random and stays there, however that one does"
	}
	clauses := filled(spread)
	settings := a.Settings()
	if spread != "" && settings.Outlier != nil {
		clauses = append(clauses, "outlier detection leaves out backends whose calls fail, and sees no slowness before calls fail by their deadline")
	}
	if settings.Caller.Hedge != nil {
		clauses = append(clauses, "hedging makes a call that takes long again, mostly elsewhere: answers of the slow backend are not waited for, but it still gets its calls")
	}
	if settings.Caller.Retry != nil {
		clauses = append(clauses, "a retry makes a call that failed again, mostly elsewhere: it hides failures, and not slowness")
	}
	return strings.Join(clauses, "; ")
}

var policies = map[string]string{
	"round_robin": "round robin gives every backend the same number of calls, however long it takes for them; " +
		"where one is slower than its share comes in, a queue grows there",
	"least_request": "least request takes, of two backends drawn at random, the one with fewer calls in flight; " +
		"on a slow one they pile up at once, so it gets few",
	"least_conn": "least conn takes, of all backends, the one with the fewest calls in flight; " +
		"on a slow one they pile up at once, so it gets few",
	"random": "random draws a backend for each call, whatever the backends do",
	"weighted_round_robin": "weighted round robin goes by what backends report with their answers (ORCA), here calls answered a second " +
		"over calls under way; one that takes ten times as long gets a tenth, as soon as its first slow answers are there",
	"ring_hash":  "ring hash sends the same key to the same backend, however that one does",
	"pick_first": "pick first keeps to one backend as long as its connection stands, however that one does",
}

// eventOutcome is one event of the plan in one arm, over all rounds.
type eventOutcome struct {
	arm    string
	cell   result.Cell
	spread string // what the arm does with a backend that is slow or fails
	place  int    // of the event in its trial
	what   string
	action result.Action
	count  int
	resets bool
	at     []float64 // seconds
	failed uint64
	codes  map[string]uint64 // of those
	late   uint64
	// Of the calls due until the next event so many were answered, and so many by the
	// backends hit; fair is the share that those should have.
	answered, byHit uint64
	fair            float64
	took            [steps][]float64 // ms, +Inf where it was not seen
	unrestored      []result.Took    // of the rounds that say why no balance was seen
	errors          []string
}

// What an event leads to, in the order of the table.
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

// eventOutcomes are the events of a cell, arms in the order of the document. An event
// is known by its place in the trial, since its time differs a little by round.
func eventOutcomes(d result.Document, cell result.Cell) []*eventOutcome {
	var all []*eventOutcome
	for _, arm := range armsIn(d, cell) {
		rounds := map[int][]result.Event{}
		for _, e := range d.Events {
			if e.Arm == arm.Name && e.Cell.Key() == cell.Key() {
				rounds[e.Round] = append(rounds[e.Round], e)
			}
		}
		mine := map[int]*eventOutcome{}
		for _, round := range slices.Sorted(maps.Keys(rounds)) {
			list := rounds[round]
			slices.SortStableFunc(list, func(a, b result.Event) int { return cmp.Compare(a.AtMS, b.AtMS) })
			for i, e := range list {
				if mine[i] == nil {
					mine[i] = &eventOutcome{arm: arm.Name, cell: cell, spread: policyBehavior(arm), place: i, what: e.What, action: e.Action, count: e.Count, resets: e.Resets, codes: map[string]uint64{}}
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

func (h *eventOutcome) add(e result.Event) {
	h.at = append(h.at, e.AtMS/1000)
	h.failed += e.Failed
	h.late += e.Late
	for code, n := range e.Errors {
		h.codes[code] += n
	}
	if e.Ready > 0 {
		h.answered, h.byHit, h.fair = h.answered+e.Answered, h.byHit+e.AnsweredByAffected, float64(len(e.Affected))/float64(e.Ready)
	}
	for step, v := range [steps]*float64{e.Took.FirstLoss, e.Took.ProxyReady, e.Took.Recovered, e.Took.Avoided, e.Took.EndpointReady, e.Took.ResolverUpdated, e.Took.FirstCall, e.Took.BalanceRestored} {
		seen := math.Inf(1)
		if v != nil {
			seen = *v
		}
		h.took[step] = append(h.took[step], seen)
	}
	if e.Took.BalanceNote != "" && e.Took.BalanceRestored == nil {
		h.unrestored = append(h.unrestored, e.Took)
	}
	if e.Error != "" && !slices.Contains(h.errors, e.Error) {
		h.errors = append(h.errors, e.Error)
	}
}

func places(all []*eventOutcome) int {
	last := 0
	for _, h := range all {
		last = max(last, h.place+1)
	}
	return last
}

// countedEvery is the interval of a timeline in ms: what is counted is known no finer.
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
