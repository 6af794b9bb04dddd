package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

var resultColumns = []column{{"arm", false}, {"p50 ms", true}, {"p99 ms", true}, {"elapsed ms", true},
	{"drain ms", true}, {"published", true}, {"share", true}, {"each", false}, {"Jain", true}, {"failed", true}, {"dropped", true},
	{"late", true}, {"wasted", true}}

// resultTables is one table for each cell.
func resultTables(p *page, d result.Document) {
	for _, in := range d.ArmsByCell() {
		if name := cellName(in.Cell); name != "" {
			p.heading(name)
		} else {
			p.heading("Results")
		}
		t := table{columns: resultColumns}
		for _, arm := range in.All {
			for _, each := range append([]result.Arm{arm}, callsOf(arm)...) {
				t.rows = append(t.rows, resultRow(d, each))
			}
		}
		p.grid(t)
		publishedNotes(p, d, in.All, "")
	}
	legend(p, d)
}

func resultRow(d result.Document, a result.Arm) []string {
	row := []string{armName(a), none, none, none, "", "", "", "", "", "", "", "", ""}
	if !a.Latency.Empty() {
		row[1], row[2] = bounded(a.Latency.Figure("p50"), ms), bounded(a.Latency.Figure("p99"), ms)
	}
	if a.ElapsedMS > 0 {
		row[3] = ms(a.ElapsedMS)
	}
	if hasDrain(a) {
		row[4] = ms(a.Window.DrainMS)
	}
	if figure, ok := publishedFor(d, a); ok {
		row[5] = figureText(figure)
	}
	if s, ok := callShares(a); ok && len(d.Events) == 0 {
		row[6] = fmt.Sprintf("%.0f–%.0f %%", s.idlest*100, s.busiest*100)
		row[7] = s.bars
		row[8] = fmt.Sprintf("%.2f", a.Balance.Jain)
	}
	if n := a.Failed(); n > 0 {
		row[9] = count(n)
	}
	if a.Dropped > 0 {
		row[10] = count(a.Dropped)
	}
	if a.Late > 0 && lateMatters(d, a) {
		row[11] = count(a.Late)
	}
	if a.Wasted != nil && *a.Wasted > 0 {
		row[12] = count(*a.Wasted)
	}
	return row
}

// minDrain is the smallest drain that tables show, as a share of the window.
const minDrain = 0.01

// hasDrain reports whether responses came so long after the window, or that of a block, that the table
// shows it.
func hasDrain(a result.Arm) bool {
	blocks := 1
	if len(a.Trials) > 0 {
		blocks = max(1, len(a.Trials[0].Blocks))
	}
	return a.Window != nil && a.Window.DrainMS >= minDrain*a.Window.LengthMS/float64(blocks)
}

// lateMatters says whether late answers are counted: the run has events, or the arm sets caller.late.
func lateMatters(d result.Document, a result.Arm) bool {
	return len(d.Events) > 0 || a.Settings().Caller.Late != nil
}

// legend explains the marks and columns that occur.
func legend(p *page, d result.Document) {
	text := "p50 and p99: latency from the moment a call was due. elapsed: from the start of the load to the last response, in the median trial."
	if slices.ContainsFunc(d.Arms, hasDrain) {
		text += " drain: from the end of the time in which calls were due to the last response, in the trial with the longest, if over 1 % of that time; rates do not contain it."
	}
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { _, ok := callShares(a); return ok && len(d.Events) == 0 }) {
		text += " share: of the calls, from the idlest to the busiest backend. each: a bar for each backend, the busiest first. Jain: 1 if all backends received equally many calls, 1/n if one of n received all."
	}
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Latency.Lost > 0 }) {
		text += " A call that failed or was dropped counts as its deadline; >: a percentile of such calls."
	}
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Late > 0 && lateMatters(d, a) }) {
		text += " late: calls answered more than caller.late (100 ms by default) after they were due."
	}
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Wasted != nil && *a.Wasted > 0 }) {
		text += " wasted: calls that backends started and whose response no caller received."
	}
	text += requests(d) + star(d)
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { f, ok := publishedFor(d, a); return ok && figureText(f) != "" }) {
		text += " published: elapsed ms of " + source(d) + "."
	}
	p.note(text)
	verdicts := verdictsByArm(d)
	for _, arm := range d.Arms {
		if arm.Limited == "" {
			continue
		}
		effect := "Its latency measures the load generator, not the arm, so it has no latency verdict."
		switch metrics, anyFit := limitedMetrics(verdicts[arm.Key()]); {
		case anyFit && metrics == "":
			effect = "The headline verdicts allow for that."
		case anyFit:
			effect = "Its latency " + metrics + " measures the load generator, not the arm, so it has no verdict " + metrics + "."
		}
		p.warn("† " + clean(arm.Name) + at(arm.Cell) + ": the load generator was the bottleneck (" + clean(arm.Limited) + "). " + effect)
	}
}

// requests says what a call is where a gateway makes the gRPC calls, "" without a gateway.
func requests(d result.Document) string {
	var makes, whose distinct
	for _, a := range d.Arms {
		gateway := a.Settings().Gateway
		if gateway == nil {
			continue
		}
		makes.add(fmt.Sprint(gateway.Iterations))
		whose.add(clean(a.Name))
	}
	if len(makes.list) == 0 {
		return ""
	}
	of := "here"
	if slices.ContainsFunc(d.Arms, func(a result.Arm) bool { return a.Settings().Gateway == nil }) {
		of = "of " + and(whose.list)
	}
	many := strings.Join(makes.list, " or ") + " gRPC calls"
	if many == "1 gRPC calls" {
		many = "1 gRPC call"
	}
	return " A call " + of + " is a request to the gateway, which makes " + many + "."
}

// resultsInOneTable has the rows of all cells in one table, which the page can sort by any column.
func resultsInOneTable(p *page, d result.Document) {
	t := table{columns: append([]column{{"arm", false}, {"at", false}}, resultColumns[1:]...)}
	all := d.ArmsByCell()
	for _, in := range all {
		where := ""
		if len(all) > 1 {
			where = cellName(in.Cell)
		}
		for _, arm := range in.All {
			for _, each := range append([]result.Arm{arm}, callsOf(arm)...) {
				row := resultRow(d, each)
				t.rows = append(t.rows, append([]string{row[0], where}, row[1:]...))
			}
		}
	}
	p.grid(t)
	for _, in := range all {
		if len(all) > 1 {
			publishedNotes(p, d, in.All, at(in.Cell))
		} else {
			publishedNotes(p, d, in.All, "")
		}
	}
	legend(p, d)
}
