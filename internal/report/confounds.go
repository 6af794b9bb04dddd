package report

import (
	"fmt"
	"math"

	"rpclab/internal/result"
)

// confounds says how much of a published gap goes away with its confound: the gap
// is published arm minus baseline, the confound's part is published minus
// controlled, both as elapsed times of this run.
func confounds(p *page, d result.Document) {
	var shown []block
	for _, c := range d.Confounds {
		t := table{columns: []column{{"", false}, {clean(c.Published), true}, {clean(c.Controlled), true},
			{clean(d.Baseline), true}, {"gap ms", true}, {"confound's part", true}, {"study's gap", true}}}
		if c.Controlled == d.Baseline {
			t.columns[3].name = "" // the same arm twice says nothing
		}
		for _, cell := range cells(d) {
			if row := confoundRow(d, c, cell); row != nil {
				t.rows = append(t.rows, row)
			}
		}
		if len(t.rows) == 0 {
			continue
		}
		shown = append(shown, block{kind: sentence, text: fmt.Sprintf("%s against %s: %s", clean(c.Published), clean(c.Controlled), clean(c.What))},
			block{kind: grid, table: &t})
	}
	if len(shown) == 0 {
		return
	}
	p.heading("Confounds: what else differs between the published arms")
	p.blocks = append(p.blocks, shown...)
	p.note("Elapsed ms. gap: the published arm over the baseline. confound's part: how much of the gap the controlled arm does " +
		"not have. Both are differences of medians of elapsed; the part is printed only where the verdict on the median latency of the " +
		"published arm against the baseline is decided, and no arm of the row was limited or lost over 1 % of its calls.")
}

func confoundRow(d result.Document, c result.Confound, cell result.Cell) []string {
	published, ok1 := elapsedOf(d, c.Published, cell)
	controlled, ok2 := elapsedOf(d, c.Controlled, cell)
	baseline, ok3 := elapsedOf(d, d.Baseline, cell)
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	name := cellName(cell)
	if name == "" {
		name = "elapsed ms"
	}
	gap := published.ElapsedMS - baseline.ElapsedMS
	row := []string{name, ms(published.ElapsedMS), ms(controlled.ElapsedMS), ms(baseline.ElapsedMS), ms(gap),
		partOf(d, published, controlled, baseline), ""}
	if c.Controlled == d.Baseline {
		row[3] = ""
	}
	theirs, ok4 := publishedFor(d, published)
	base, ok5 := publishedFor(d, baseline)
	if ok4 && ok5 && theirs.ElapsedMS > 0 && base.ElapsedMS > 0 {
		row[6] = ms(theirs.ElapsedMS - base.ElapsedMS)
	} else if ok4 && theirs.ElapsedMS == 0 {
		row[6] = figureText(theirs)
	}
	return row
}

const (
	smallGap = 0.01 // of the baseline: a share of less says nothing
	mostLost = 0.01 // of an arm's calls: beyond, its times do not stand for it
)

// partOf is the confound's share of the gap, where the gap is one.
func partOf(d result.Document, published, controlled, baseline result.Arm) string {
	const unknown = "not established"
	for _, arm := range []result.Arm{published, controlled, baseline} {
		if arm.Limited != "" || arm.Lost() > mostLost {
			return unknown
		}
	}
	gap := published.ElapsedMS - baseline.ElapsedMS
	small := math.Abs(gap) <= smallGap*baseline.ElapsedMS
	switch decision := decisionOn(d, "latency_p50", published, baseline); {
	case small && (decision == "equivalent" || decision == "better" || decision == "worse"):
		return "no gap"
	case !small && (decision == "better" || decision == "worse"):
		return fmt.Sprintf("%.0f %%", (published.ElapsedMS-controlled.ElapsedMS)/gap*100)
	}
	return unknown
}

// decisionOn is what was decided on a against b in their cell, "" if nothing was.
func decisionOn(d result.Document, metric string, a, b result.Arm) string {
	for _, v := range d.Verdicts {
		if v.Metric == metric && v.A == a.Name && v.B == b.Name && v.Cell.Key() == a.Cell.Key() {
			return v.Decision
		}
	}
	return ""
}

func elapsedOf(d result.Document, name string, cell result.Cell) (result.Arm, bool) {
	for _, arm := range armsIn(d, cell) {
		if arm.Name == name && arm.ElapsedMS > 0 {
			return arm, true
		}
	}
	return result.Arm{}, false
}
