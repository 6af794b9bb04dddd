package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"rpclab/internal/result"
)

// happening is one event of the plan in one arm, over all rounds.
type happening struct {
	arm    string
	place  int // of the event in its trial
	what   string
	at     []float64 // seconds
	failed uint64
	took   [steps][]float64 // ms, +Inf where it was not seen
	notes  []string         // why the balance was not seen restored, by round
	errors []string
}

// What an event leads to, in the order of the table.
const (
	ready = iota
	told
	firstCall
	evenAgain
	steps
)

// events compares the arms: one table for each event of each cell.
func events(p *page, d result.Document) {
	if len(d.Events) == 0 {
		return
	}
	p.heading("Events")
	unseen := false
	var why balanceNotes
	for _, cell := range cells(d) {
		all := happenings(d, cell)
		for i, last := 0, places(all); i < last; i++ {
			t := table{columns: []column{{"arm", false}, {"failed", true}, {"ready ms", true}, {"told ms", true},
				{"first call ms", true}, {"even again ms", true}}}
			name := ""
			for _, h := range all {
				if h.place != i {
					continue
				}
				if name == "" {
					name = fmt.Sprintf("%s, after %.1f s%s", clean(h.what), median(h.at), at(cell))
				}
				row := []string{clean(h.arm), count(h.failed)}
				for step, times := range h.took {
					m := median(times)
					unseen = unseen || math.IsInf(m, 1)
					row = append(row, tookText(step, m))
				}
				t.rows = append(t.rows, row)
			}
			p.sub(name)
			p.grid(t)
		}
		for _, h := range all {
			why.add(h)
			for _, text := range h.errors {
				p.alarm(fmt.Sprintf("%s, %s: could not be done: %s", clean(h.arm), clean(h.what), clean(text)))
			}
		}
	}
	eventNotes(p, d, unseen, why)
	timelines(p, d)
}

// happenings are the events of a cell, arms in the order of the document. An event
// is known by its place in the trial, since its time differs a little by round.
func happenings(d result.Document, cell result.Cell) []*happening {
	var all []*happening
	for _, arm := range armsIn(d, cell) {
		rounds := map[int][]result.Event{}
		for _, e := range d.Events {
			if e.Arm == arm.Name && e.Cell.Key() == cell.Key() {
				rounds[e.Round] = append(rounds[e.Round], e)
			}
		}
		mine := map[int]*happening{}
		for _, round := range slices.Sorted(maps.Keys(rounds)) {
			list := rounds[round]
			slices.SortStableFunc(list, func(a, b result.Event) int { return cmp.Compare(a.AtMS, b.AtMS) })
			for i, e := range list {
				if mine[i] == nil {
					mine[i] = &happening{arm: arm.Name, place: i, what: e.What}
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

func (h *happening) add(e result.Event) {
	h.at = append(h.at, e.AtMS/1000)
	h.failed += e.Failed
	for step, v := range [steps]*float64{e.Took.EndpointReady, e.Took.ClientTold, e.Took.FirstCall, e.Took.BalanceRestored} {
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

func places(all []*happening) int {
	last := 0
	for _, h := range all {
		last = max(last, h.place+1)
	}
	return last
}

// countedEvery is the interval of a timeline in ms: balance is known no finer.
const countedEvery = 100

func tookText(step int, took float64) string {
	switch {
	case math.IsInf(took, 1):
		return none
	case step == evenAgain && took <= countedEvery:
		return "≤ " + number(countedEvery)
	case step == evenAgain:
		return number(took)
	}
	return ms(took)
}
