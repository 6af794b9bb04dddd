package report

import (
	"slices"
	"strings"

	"rpclab/internal/result"
)

// InFull is the answer as a list, for a page that begins with a shorter one.
func InFull(d result.Document) []Element { return partsOf(d, inFull) }

// inFull writes the answer as a list. Where the answer is on metrics, it has a line for each arm, which names every cell.
func inFull(p *page, d result.Document) {
	if !measured(d) || asksAboutEvents(d) {
		sentences := []string{Answer(d)}
		if measured(d) {
			sentences = append(eventSentences(d), filled(unmeasured(d))...)
		}
		for _, text := range sentences {
			p.item(strings.TrimSpace(text))
		}
		return
	}
	said := 0
	for _, metric := range headlines(d) {
		all := outcomes(d, metric)
		if said == 2 || !slices.ContainsFunc(all, outcome.decided) {
			continue
		}
		if said++; said == 2 { // the lines on the first metric have the undecided cells
			all = slices.DeleteFunc(all, func(o outcome) bool { return !o.decided() })
		}
		p.say(capital(metricNoun(metric)) + ":")
		var arms distinct
		byArm := map[string][]outcome{}
		for _, o := range all {
			arms.add(o.arm)
			byArm[o.arm] = append(byArm[o.arm], o)
		}
		for _, arm := range arms.list {
			p.item(lineOfArm(d, byArm[arm], metric))
		}
	}
	if said == 0 {
		p.item(found(d))
	}
	if text := unmeasured(d); text != "" {
		p.item(strings.TrimSpace(text))
	}
}

// lineOfArm has the decisions on one arm.
func lineOfArm(d result.Document, all []outcome, metric string) string {
	arm := clean(all[0].arm)
	line := arm
	for i, clause := range answers(d, all, metric) {
		decided, is := strings.CutPrefix(clause, arm)
		against := map[bool]string{true: " against " + clean(all[0].of)}[i == 0]
		open := strings.Replace(clause, " for "+arm, against, 1) // undecided, or no verdict
		switch {
		case is && i == 0:
			line += decided
		case is:
			line += ";" + decided
		case i == 0:
			line += ": " + open
		default:
			line += "; " + open
		}
	}
	return line + "."
}
