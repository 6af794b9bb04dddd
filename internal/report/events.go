package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// events compares the arms after each event, and draws their balance over time.
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
	followTimes(p, d)
	unseen := false
	var every []*eventOutcome
	byArm := eventsByArm(d)
	for _, in := range d.ArmsByCell() {
		all := eventOutcomes(in.All, byArm)
		every = append(every, all...)
		for i, last := 0, places(all); i < last; i++ {
			mine := slices.DeleteFunc(slices.Clone(all), func(h *eventOutcome) bool { return h.place != i || !h.isPerformed() })
			if len(mine) == 0 {
				continue
			}
			p.sub(fmt.Sprintf("%s, at %.1f s%s", clean(mine[0].what), median(mine[0].at), at(in.Cell)))
			t, missing := eventTable(mine)
			p.grid(t)
			unseen = unseen || missing
			lostByCode(p, mine)
		}
		for _, h := range all {
			for _, text := range h.errors {
				p.alarm(fmt.Sprintf("%s, %s: failed: %s", clean(h.arm), clean(h.what), clean(text)))
			}
		}
	}
	eventNotes(p, d, every, unseen)
}

// followTimes says when the calls of each arm reached new backends, if that is a headline metric.
func followTimes(p *page, d result.Document) {
	var said []string
	for _, a := range d.Arms {
		f := a.Followed
		if f == nil || !slices.Contains(d.Headline, "followed") {
			continue
		}
		text := clean(a.Name) + at(a.Cell) + " " + valueText("followed", a)
		switch {
		case f.LowMS != nil && f.HighMS != nil:
			text += fmt.Sprintf(" (%s–%s)", ms(*f.LowMS), ms(*f.HighMS))
		case f.LowMS != nil:
			text += fmt.Sprintf(" (%s or later)", ms(*f.LowMS))
		}
		if f.Never > 0 && f.MedianMS != nil {
			text += fmt.Sprintf(", and never in %d of %d rounds", f.Never, f.Trials)
		}
		said = append(said, text)
	}
	if len(said) > 0 {
		p.say("Time until calls reached new backends, the median over rounds (in brackets its exact 95 % interval, from 6 rounds on): " + strings.Join(said, "; ") + ".")
	}
}

// eventTable has a row for each arm, without times that no arm has; missing says that some arm has a
// time that another has not.
func eventTable(arms []*eventOutcome) (t table, missing bool) {
	t.columns = []column{{"arm", false}, {"failed", true}, {"late", true}, {"on affected", true},
		{"first loss", true}, {"proxy ready", true}, {"recovered", true}, {arms[0].columnOfAvoided(), true},
		{"ready", true}, {"resolver", true}, {"first call", true}, {"balanced", true}}
	some := [steps]bool{}
	for _, h := range arms {
		for step := range some {
			some[step] = some[step] || !math.IsInf(h.typical(step), 1)
		}
	}
	for _, h := range arms {
		late := ""
		if slices.ContainsFunc(arms, func(h *eventOutcome) bool { return h.late > 0 }) {
			late = count(h.late)
		}
		row := []string{clean(h.arm), count(h.failed), late, h.share()}
		for step := range some {
			m := h.typical(step)
			switch {
			case some[step]:
				missing = missing || math.IsInf(m, 1)
				row = append(row, tookText(step, m))
			case step == avoided && h.fair > 0:
				missing = true
				row = append(row, none) // the column says that no arm avoided the backends
			default:
				row = append(row, "")
			}
		}
		t.rows = append(t.rows, row)
	}
	return t, missing
}

// lostByCode counts failed calls by arm and code.
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
