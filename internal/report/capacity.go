package report

import (
	"cmp"
	"fmt"
	"slices"

	"rpclab/internal/result"
)

// capacities has the results of searches and, in Markdown, latency by rate.
func capacities(p *page, d result.Document) {
	if !searched(d) {
		return
	}
	t := table{columns: []column{{"arm", false}, {"calls/s", true}, {"range", true}, {"holds", true}, {"fails", true},
		{"probes", true}, {"limited by", false}}}
	slo := ""
	for _, arm := range d.Arms {
		if arm.Capacity != nil {
			t.rows = append(t.rows, capacityRow(arm))
			slo = cmp.Or(slo, searches(arm)[0].SLO)
		}
	}
	p.heading("Capacity: the highest rate at which " + clean(slo))
	p.grid(t)
	note := "calls/s and range: the median and the range of the rounds. holds: the highest rate that met the condition in a probe of full length, in the " +
		"worst round. fails: the lowest rate that did not, in the best round. limited by: why searches ended early, and in how many rounds. A dropped call counts as failed."
	if measured(d) {
		note += " The results above are at the rates that held."
	}
	p.note(note)
	for _, arm := range d.Arms {
		if arm.Capacity != nil {
			curve(p, arm)
		}
	}
}

// searches are those of an arm's trials; an empty one if there are none.
func searches(a result.Arm) (all []result.Capacity) {
	for _, t := range a.Trials {
		if t.Capacity != nil {
			all = append(all, *t.Capacity)
		}
	}
	if all == nil {
		all = append(all, result.Capacity{})
	}
	return all
}

func capacityRow(a result.Arm) []string {
	row := []string{armName(a) + at(a.Cell), none, "", none, none, "", ""}
	if c := a.Capacity; c.Rate > 0 {
		row[1] = rate(c.Rate)
		if c.Count > 1 {
			row[2] = fromTo(c.Low, c.High, rate)
		}
	}
	var holds, fails, probes []float64
	ends := map[string]int{}
	all := searches(a)
	for _, c := range all {
		if c.Holds > 0 {
			holds = append(holds, c.Holds)
		}
		if c.Fails > 0 {
			fails = append(fails, c.Fails)
		}
		probes = append(probes, float64(len(c.Probes)))
		ends[c.End]++
	}
	if len(holds) > 0 && ends["from fails"] == 0 { // such a round is the worst
		row[3] = rate(slices.Min(holds))
	}
	if len(fails) > 0 {
		row[4] = rate(slices.Max(fails))
	}
	row[5] = fromTo(slices.Min(probes), slices.Max(probes), number)
	for _, end := range []struct{ end, words string }{
		{"to holds", "highest rate"}, {"from fails", "lowest rate"}, {"used up", "probes"},
		{"generator", "generator"}, {"interrupted", "interrupt"},
	} {
		n := ends[end.end]
		if n == 0 {
			continue
		}
		if row[6] != "" {
			row[6] += ", "
		}
		row[6] += end.words
		if n < len(all) {
			row[6] += fmt.Sprintf(" (%d of %d)", n, len(all))
		}
	}
	return row
}

// curve is latency against rate in the last round.
func curve(p *page, a result.Arm) {
	all := searches(a)
	probes := slices.Clone(all[len(all)-1].Probes)
	slices.SortStableFunc(probes, func(a, b result.Probe) int { return cmp.Compare(a.Rate, b.Rate) })
	t := table{columns: []column{{"calls/s due", true}, {"seconds", true}, {"p50 ms", true}, {"p99 ms", true}, {"failed", true},
		{"dropped", true}, {"lateness p99 ms", true}, {"outcome", false}}}
	for _, probe := range probes {
		row := []string{rate(probe.Rate), fmt.Sprintf("%.2f", probe.DurationMS/1e3), bounded(probe.Latency().Figure("p50"), ms), bounded(probe.Latency().Figure("p99"), ms), "", "", ms(probe.Lateness), "holds"}
		if probe.Errors > 0 {
			row[4] = count(probe.Errors)
		}
		if probe.Dropped > 0 {
			row[5] = count(probe.Dropped)
		}
		switch {
		case probe.Limited != "":
			row[7] = "load generator"
		case !probe.Held:
			row[7] = "fails"
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) > 0 {
		p.aside(block{kind: subheading, text: "Latency against rate: " + clean(a.Name) + at(a.Cell) + ", the last round"})
		p.aside(block{kind: grid, table: &t})
	}
}
