package report

import (
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// assertions lists which assertions hold.
func assertions(p *page, d result.Document) {
	if len(d.Assertions) == 0 {
		return
	}
	p.heading("Assertions")
	for _, a := range d.Assertions {
		if len(a.Failures) == 0 {
			p.item(ofArm(d, a.Arm, a.Cell) + "`" + clean(a.Assertion) + "` holds")
		}
		for _, why := range a.Failures {
			p.alarm(ofArm(d, a.Arm, a.Cell) + clean(why))
		}
	}
}

// ofArm names an arm and its cell, if a run has several.
func ofArm(d result.Document, arm string, cell result.Cell) string {
	if len(d.Arms) < 2 {
		return ""
	}
	return clean(arm) + cellSuffix(cell) + ": "
}

// cellSuffix is ", burst = 2,000", or empty without a sweep.
func cellSuffix(c result.Cell) string {
	if name := cellName(c); name != "" {
		return ", " + name
	}
	return ""
}

// mostFailures is how many failed assertions and gates the head of a report names.
const mostFailures = 5

// conditions says at the head of a report which assertions and gates failed.
func conditions(p *page, d result.Document) {
	say := p.alarm
	switch d.Conditions {
	case result.ConditionsFailed:
	case result.ConditionsAccepted:
		say = p.note
		p.say("An assertion or gate failed, and the run was accepted: gates compare the next run with this one.")
	default:
		return
	}
	all := failedConditions(d)
	if len(all) == 0 && d.Conditions == result.ConditionsFailed {
		all = []string{unnamedFailure(d)}
	}
	for i, text := range all {
		if i == mostFailures {
			say(fmt.Sprintf("And %d more assertions and gates failed.", len(all)-i))
			break
		}
		say(text)
	}
}

// unnamedFailure says what failed if no assertion and no gate did: the condition of a search, or what an older document
// does not name.
func unnamedFailure(d result.Document) string {
	for _, arm := range d.Arms {
		all := searches(arm)
		holds := func(c result.Capacity) bool { return c.Holds > 0 }
		i := slices.IndexFunc(all, func(c result.Capacity) bool { return c.End == "from fails" })
		if i < 0 {
			continue
		}
		text := "Search failed: `" + clean(all[i].SLO) + "` holds at no rate"
		if without := len(slices.DeleteFunc(slices.Clone(all), holds)); without < len(all) {
			text += fmt.Sprintf(" in %d of %d rounds", without, len(all))
		}
		return text + "."
	}
	if !measured(d) {
		return "No assertion and no gate passed: nothing was measured."
	}
	return "An assertion or gate failed."
}

// failedConditions has a sentence for each assertion and gate that failed.
func failedConditions(d result.Document) (all []string) {
	for _, a := range d.Assertions {
		for _, why := range a.Failures {
			all = append(all, "Assertion failed: "+ofArm(d, a.Arm, a.Cell)+clean(why)+".")
		}
	}
	if d.Gates == nil {
		return all
	}
	fails := d.Gates.Undecided == strict
	for _, g := range d.Gates.Results {
		gate := ofArm(d, g.Arm, g.Cell) + "`" + clean(g.Gate) + "`"
		switch {
		case g.Outcome == "failed":
			all = append(all, fmt.Sprintf("Gate failed: %s, the ratio is %s (%s).", gate, ratio(g.Ratio), interval(g.CI)))
		case g.Outcome != "held" && fails:
			all = append(all, fmt.Sprintf("Gate not passed: %s, rpclab could not tell: %s.", gate, clean(g.Reason)))
		}
	}
	for _, r := range d.Gates.Refused {
		if fails {
			all = append(all, fmt.Sprintf("Gates not passed: %s is not compared: %s.", clean(r.Arm)+at(r.Cell), clean(r.Reason)))
		}
	}
	return all
}
