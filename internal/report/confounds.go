package report

import (
	"fmt"

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
	p.note("Elapsed ms. gap: the published arm over the baseline. confound's part: what the controlled arm does not need. " +
		"Differences of medians; the verdicts say which are real.")
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
	row := []string{name, ms(published.ElapsedMS), ms(controlled.ElapsedMS), ms(baseline.ElapsedMS), ms(gap), "no gap", ""}
	if c.Controlled == d.Baseline {
		row[3] = ""
	}
	if gap > 0.01*baseline.ElapsedMS {
		part := (published.ElapsedMS - controlled.ElapsedMS) / gap
		row[5] = fmt.Sprintf("%.0f %%", part*100)
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

func elapsedOf(d result.Document, name string, cell result.Cell) (result.Arm, bool) {
	for _, arm := range armsIn(d, cell) {
		if arm.Name == name && arm.ElapsedMS > 0 {
			return arm, true
		}
	}
	return result.Arm{}, false
}
