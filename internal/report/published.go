package report

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"rpclab/internal/result"
)

const shortNote = 10 // a note of at most this many characters stands in the table

// publishedFor finds the study's figure for an arm in its cell. In a run with other
// settings than the study's there is none to compare with, unless it says of what it is. A
// setting that takes one cell out of the sweep is no other one.
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

// deviates says whether a run has settings that no cell of the study has.
func deviates(d result.Document) bool {
	return slices.ContainsFunc(d.ChangedPaths(), func(path string) bool {
		return !slices.ContainsFunc(d.Published, func(f result.Published) bool { return f.Cell[path] != nil })
	})
}

// place is an arm's cell, with what its configuration says where one of a figure's fields was
// set for the whole run.
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

// within says whether the figure speaks of this cell: all that it names agrees.
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

// star is the legend of the mark on arms that do as the study did, "" without any:
// with the study's settings or with others, and under which names it has them.
func star(d result.Document) string {
	var names []string
	marked, ran := false, false
	for _, arm := range d.Arms {
		if !arm.Published {
			continue
		}
		marked = true
		ran = ran || slices.ContainsFunc(d.Published, func(f result.Published) bool { return within(f.Cell, place(d, f, arm)) })
		name := clean(arm.Name) + " is " + clean(arm.Label)
		if arm.Label != "" && arm.Label != arm.Name && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !marked {
		return ""
	}
	text := " *: measured as the study did it"
	if deviates(d) || d.Size != "" || len(d.Published) > 0 && !ran {
		text = " *: the way of the study, with other settings"
	}
	if len(names) > 0 {
		text += "; there " + and(names)
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

// publishedNotes prints what the study said beside its numbers; where is the cell, if that
// does not stand above.
func publishedNotes(p *page, d result.Document, cell result.Cell, where string) {
	for _, arm := range armsIn(d, cell) {
		figure, ok := publishedFor(d, arm)
		if !ok || figure.Note == "" || figureText(figure) == clean(figure.Note) {
			continue
		}
		p.item(fmt.Sprintf("%s%s, published: %s", clean(arm.Name), where, clean(figure.Note)))
	}
}

// ofSize is what the study's figures are of, where that is not what ran here.
func ofSize(d result.Document) string {
	if d.Size == "" {
		return ""
	}
	return " of " + clean(d.Size)
}

func source(d result.Document) string {
	if d.Source == "" {
		return "the study"
	}
	return d.Source
}
