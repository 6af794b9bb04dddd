package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"rpclab/internal/result"
)

const shortNote = 10 // characters of a note that fits into the table

// publishedFor finds the published figure for an arm in its cell. A run with other settings than
// the published study has none, unless the document names the size of the published load. A setting
// that selects one cell of the sweep is not another setting.
func publishedFor(d result.Document, a result.Arm) (result.Published, bool) {
	if deviates(d) && d.Size == "" {
		return result.Published{}, false
	}
	for _, figure := range d.Published {
		if figure.Arm == a.Name && within(figure.Cell, place(d, figure, a)) {
			return figure, true
		}
	}
	return result.Published{}, false
}

// deviates reports whether a run has settings that no cell of the published study has.
func deviates(d result.Document) bool {
	return slices.ContainsFunc(d.ChangedPaths(), func(path string) bool {
		return !slices.ContainsFunc(d.Published, func(f result.Published) bool { return f.Cell[path] != nil })
	})
}

// place is an arm's cell, with the value of each field of the figure's cell that was set for the
// whole run.
func place(d result.Document, figure result.Published, a result.Arm) result.Cell {
	cell := maps.Clone(a.Cell)
	for _, path := range d.ChangedPaths() {
		if figure.Cell[path] == nil {
			continue
		}
		if cell == nil {
			cell = result.Cell{}
		}
		cell[path] = a.SettingsByPath()[path]
	}
	return cell
}

// within reports whether the figure is of this cell: all fields that it names are equal.
func within(figure, cell result.Cell) bool {
	if len(figure) == 0 {
		return len(cell) == 0
	}
	for path, v := range figure {
		there, ok := cell[path]
		if !ok || (result.Cell{"": v}).Key() != (result.Cell{"": there}).Key() {
			return false
		}
	}
	return true
}

// star is the legend of the mark on arms that repeat the published study, "" without any: whether
// the settings are those of the study, and which names the study uses.
func star(d result.Document) string {
	var names distinct
	marked, ran := false, false
	for _, arm := range d.Arms {
		if !arm.Published {
			continue
		}
		marked = true
		ran = ran || slices.ContainsFunc(d.Published, func(f result.Published) bool { return within(f.Cell, place(d, f, arm)) })
		if arm.Label != "" && arm.Label != arm.Name {
			names.add(clean(arm.Name) + " is " + clean(arm.Label))
		}
	}
	if !marked {
		return ""
	}
	text := " *: measured as in the published study"
	if deviates(d) || d.Size != "" || len(d.Published) > 0 && !ran {
		text = " *: measured as in the published study, with other settings"
	}
	if len(names.list) > 0 {
		text += "; there " + and(names.list)
	}
	return text + "."
}

func figureText(f result.Published) string {
	switch {
	case f.ElapsedMS > 0:
		return ms(f.ElapsedMS)
	case utf8.RuneCountInString(f.Note) <= shortNote:
		return clean(f.Note)
	}
	return "see below"
}

// publishedNotes prints the notes on published figures; where is the cell, if no heading names it.
func publishedNotes(p *page, d result.Document, arms []result.Arm, where string) {
	for _, arm := range arms {
		figure, ok := publishedFor(d, arm)
		if !ok || figure.Note == "" || figureText(figure) == clean(figure.Note) {
			continue
		}
		p.item(fmt.Sprintf("%s%s, published: %s", clean(arm.Name), where, clean(figure.Note)))
	}
}

// studies are the titles of the studies that older documents number.
var studies = map[string]string{
	"study 1": "a published comparison of ClusterIP, headless service and service mesh (docs/studies.md#balancing)",
	"study 2": "a published comparison of new, reused and endpoint-watching channels (docs/studies.md#channels)",
	"study 3": "a published comparison of REST, gRPC and a function call (docs/studies.md#chain)",
	"study 4": "a published comparison of unary calls and bidirectional streams (docs/studies.md#streams)",
	"study 5": "a published comparison of REST on threads, REST on virtual threads and gRPC (docs/studies.md#ladder)",
}

// source names the study that printed the published figures, and the size of its load where this
// run had a smaller one.
func source(d result.Document) string {
	title := clean(cmp.Or(studies[d.Source], d.Source, "the published study"))
	if d.Size != "" {
		title += ", of " + clean(d.Size)
	}
	return title + ", measured on other hardware"
}
