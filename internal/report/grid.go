package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const gap = 2 // columns between two columns

// lines lays the table out. When it is too wide the names are cut, and when that is
// not enough it continues below with the columns that are left, names repeated.
func (t table) lines(width int) []string {
	t = t.drop()
	widths := t.widths()
	if over := sum(widths) + gap*(len(widths)-1) - width; over > 0 {
		widths[0] = max(widths[0]-over, min(widths[0], width/4))
	}
	var out []string
	for from := 1; from < len(widths) || from == 1; {
		used, to := widths[0], from
		for to < len(widths) {
			room := width - used - gap
			if widths[to] > room {
				if to > from {
					break
				}
				widths[to] = room // a column alone that is too wide is cut
			}
			used += gap + widths[to]
			to++
		}
		if from > 1 {
			out = append(out, "")
		}
		out = append(out, t.panel(widths, from, to)...)
		from = max(to, from+1)
	}
	return out
}

// panel draws the first column and those from..to.
func (t table) panel(widths []int, from, to int) []string {
	names := make([]string, len(t.columns))
	for c, column := range t.columns {
		names[c] = column.name
	}
	var out []string
	for _, row := range append([][]string{names}, t.rows...) {
		cells := []string{pad(row[0], widths[0], false)}
		for c := from; c < to; c++ {
			cells = append(cells, pad(row[c], widths[c], t.columns[c].right))
		}
		out = append(out, strings.Join(cells, strings.Repeat(" ", gap)))
	}
	rule := strings.Repeat("─", utf8.RuneCountInString(out[0]))
	return slices.Insert(out, 1, rule)
}

func (t table) widths() []int {
	widths := make([]int, len(t.columns))
	for c, column := range t.columns {
		widths[c] = utf8.RuneCountInString(column.name)
		for _, row := range t.rows {
			widths[c] = max(widths[c], utf8.RuneCountInString(row[c]))
		}
	}
	return widths
}

func pad(text string, width int, right bool) string {
	text = cut(text, width)
	space := strings.Repeat(" ", width-utf8.RuneCountInString(text))
	if right {
		return space + text
	}
	return text + space
}

// cut shortens text in the middle: names that differ often do so at an end.
func cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	if width < 3 {
		return string(runes[:width])
	}
	tail := (width - 1) / 2
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}
