package report

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"rpclab/internal/result"
)

const shortNote = 10 // a note of at most this many characters stands in the table

// publishedFor finds the study's figure for an arm in its cell. In a run with other
// settings than the study's there is none to compare with, unless it says of what it is.
func publishedFor(d result.Document, a result.Arm) (result.Published, bool) {
	if len(d.Changed) > 0 && d.Size == "" {
		return result.Published{}, false
	}
	for _, figure := range d.Published {
		if figure.Arm == a.Name && within(figure.Cell, a.Cell) {
			return figure, true
		}
	}
	return result.Published{}, false
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
		ran = ran || slices.ContainsFunc(d.Published, func(f result.Published) bool { return within(f.Cell, arm.Cell) })
		name := clean(arm.Name) + " is " + clean(arm.Label)
		if arm.Label != "" && arm.Label != arm.Name && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !marked {
		return ""
	}
	text := " *: measured as the study did it"
	if len(d.Changed) > 0 || d.Size != "" || len(d.Published) > 0 && !ran {
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

// publishedNotes prints what the study said beside its numbers.
func publishedNotes(p *page, d result.Document, cell result.Cell) {
	for _, arm := range armsIn(d, cell) {
		figure, ok := publishedFor(d, arm)
		if !ok || figure.Note == "" || figureText(figure) == clean(figure.Note) {
			continue
		}
		p.item(fmt.Sprintf("%s, published: %s", clean(arm.Name), clean(figure.Note)))
	}
}
