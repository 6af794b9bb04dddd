package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rpclab/internal/result"
)

// failures counts failed calls by code, with the first message of each, dropped calls, and trials
// without a measurement.
func failures(p *page, d result.Document) {
	var said []string
	for _, arm := range d.Arms {
		name := clean(arm.Name) + at(arm.Cell)
		for _, code := range byCount(arm.Errors) {
			text := fmt.Sprintf("%s: %s of %s failed with %s", name, count(arm.Errors[code]), plural(int(arm.Calls), "call"), clean(code))
			if sample := clean(arm.Samples[code]); sample != "" {
				text += ", first: “" + cut(sample, 200) + "”"
			}
			said = append(said, text)
		}
		if arm.Dropped > 0 {
			said = append(said, fmt.Sprintf("%s: %s dropped: due while as many calls as allowed were in flight, and so never sent",
				name, plural(int(arm.Dropped), "call")))
		}
		for _, failed := range arm.FailedTrials() {
			said = append(said, fmt.Sprintf("%s, %s: no measurement: %s", name, failed.Where(), cut(clean(failed.Reason), 400)))
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
		p.alarm(clean(warning))
	}
}
