package report

import (
	"fmt"
	"unicode/utf8"

	"rpclab/internal/result"
)

const shortNote = 10 // a note of at most this many characters stands in the table

// publishedFor finds the study's figure for an arm in its cell.
func publishedFor(d result.Document, a result.Arm) (result.Published, bool) {
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
