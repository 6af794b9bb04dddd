package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// failures counts failed calls by code, with the messages of each, dropped calls, and trials
// without a measurement.
func failures(p *page, d result.Document) {
	var said []string
	for _, arm := range d.Arms {
		name := clean(arm.Name) + at(arm.Cell)
		for _, code := range byCount(arm.Errors) {
			text := fmt.Sprintf("%s: %s of %s failed with %s", name, count(arm.Errors[code]), plural(int(arm.Calls), "call"), clean(code))
			said = append(said, text+Messages(arm, code))
		}
		if arm.Dropped > 0 {
			said = append(said, fmt.Sprintf("%s: %s dropped: due while as many calls as allowed were in flight, and so never sent",
				name, plural(int(arm.Dropped), "call")))
		}
		for _, failed := range arm.FailedTrials() {
			limit := failure.Limit(failed.Reason)
			if limit != "" {
				limit = " (" + limit + ")"
			}
			said = append(said, fmt.Sprintf("%s, %s: no measurement%s%s%s", name, failed.Where(), limit, failed.Before(), cut(clean(failed.Reason), longestMessage)))
		}
	}
	if len(said) == 0 {
		if measured(d) {
			p.heading("Errors")
			p.say("No call failed.")
		}
		return
	}
	p.heading("Errors")
	for _, text := range said {
		p.item(text)
	}
}

// longestMessage is how many characters a report shows of what a program wrote before it ended. The result has all.
const longestMessage = 400

// Messages are the messages with which the calls of an arm failed with a code. A limit that a message names follows it
// in parentheses.
func Messages(arm result.Arm, code string) string {
	reasons, counted := arm.ReasonsOf(code)
	var texts []string
	others := arm.Errors[code]
	for _, r := range reasons {
		text := "“" + cut(clean(r.Message), 200) + "”"
		if limit := failure.Limit(r.Message); limit != "" {
			text += " (" + limit + ")"
		}
		if counted && len(reasons) > 1 {
			text = count(r.Calls) + " " + text
		}
		texts, others = append(texts, text), others-min(others, r.Calls)
	}
	switch {
	case len(reasons) == 0:
		return ""
	case len(reasons) == 1 || !counted:
		return ", first: " + strings.Join(texts, "; in other rounds ")
	case others > 0:
		texts = append(texts, count(others)+" with other messages")
	}
	return ": " + strings.Join(texts, "; ")
}

// byCount are the codes that occurred, the most frequent first.
func byCount(errors map[string]uint64) []string {
	codes := slices.Sorted(maps.Keys(errors))
	codes = slices.DeleteFunc(codes, func(code string) bool { return errors[code] == 0 })
	slices.SortStableFunc(codes, func(a, b string) int { return cmp.Compare(errors[b], errors[a]) })
	return codes
}

func warnings(p *page, d result.Document) {
	inHead := func(warning string) bool {
		return slices.ContainsFunc(d.MachineWarnings, func(w result.MachineWarning) bool { return ofWholeRun(w) && w.Text == warning })
	}
	all := slices.DeleteFunc(slices.Clone(d.Warnings), inHead)
	if len(all) == 0 {
		return
	}
	p.heading("Warnings")
	for _, warning := range all {
		p.alarm(cut(clean(warning), longestMessage))
	}
}
