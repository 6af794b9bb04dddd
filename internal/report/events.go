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
	notes           []string         // why the balance was not seen restored, by round
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

// events compares the arms, and draws what became of their balance.
func events(p *page, d result.Document) {
	eventTables(p, d)
	if len(d.Events) > 0 {
		timelines(p, d)
	}
}

// eventTables are one table for each event of each cell.
func eventTables(p *page, d result.Document) {
	if len(d.Events) == 0 {
		return
	}
	p.heading("Events")
	if asksAboutEvents(d) {
		recoveryTable(p, d, len(d.Arms))
	}
	unseen := false
	var why balanceNotes
	var every []*eventOutcome
	for _, cell := range cells(d) {
		all := eventOutcomes(d, cell)
		every = append(every, all...)
		for i, last := 0, places(all); i < last; i++ {
			mine := slices.DeleteFunc(slices.Clone(all), func(h *eventOutcome) bool { return h.place != i })
			if len(mine) == 0 {
				continue
			}
			p.sub(fmt.Sprintf("%s, after %.1f s%s", clean(mine[0].what), median(mine[0].at), at(cell)))
			t, missing := eventTable(mine)
			p.grid(t)
			unseen = unseen || missing
			lostByCode(p, mine)
		}
		for _, h := range all {
			why.add(h)
			for _, text := range h.errors {
				p.alarm(fmt.Sprintf("%s, %s: could not be done: %s", clean(h.arm), clean(h.what), clean(text)))
			}
		}
	}
	eventNotes(p, d, every, unseen, why)
}

// eventTable has a row for each arm. A time that no arm has is left out; missing says that
// one which some arm has is not there for another.
func eventTable(arms []*eventOutcome) (t table, missing bool) {
	t.columns = []column{{"arm", false}, {"failed", true}, {"late", true}, {"on affected", true},
		{"first loss", true}, {"proxy ready", true}, {"recovered", true}, {"avoided", true},
		{"ready", true}, {"resolver", true}, {"first call", true}, {"balanced", true}}
	some := [steps]bool{}
	for _, h := range arms {
		for step, times := range h.took {
			some[step] = some[step] || !math.IsInf(median(times), 1)
		}
	}
	for _, h := range arms {
		late := ""
		if slices.ContainsFunc(arms, func(h *eventOutcome) bool { return h.late > 0 }) {
			late = count(h.late)
		}
		row := []string{clean(h.arm), count(h.failed), late, h.share()}
		for step, times := range h.took {
			m := median(times)
			switch {
			case some[step]:
				missing = missing || math.IsInf(m, 1)
				row = append(row, tookText(step, m))
			case step == avoided && h.fair > 0:
				missing = true
				row = append(row, none) // that nobody noticed is worth a column
			default:
				row = append(row, "")
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, missing
}

// lostByCode says with which codes calls failed, by arm.
func lostByCode(p *page, arms []*eventOutcome) {
	var said []string
	for _, h := range arms {
		var codes []string
		for _, code := range byCount(h.codes) {
			codes = append(codes, count(h.codes[code])+" "+clean(code))
		}
		if len(codes) > 0 {
			said = append(said, clean(h.arm)+" "+and(codes))
		}
	}
	if len(said) > 0 {
		p.say("Failed, by code: " + strings.Join(said, "; ") + ".")
	}
}

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
	if note := clean(e.Took.BalanceNote); note != "" && e.Took.BalanceRestored == nil {
		h.notes = append(h.notes, note)
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
