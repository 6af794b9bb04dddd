package report

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func writeTerminal(w io.Writer, p page, o Options) error {
	out := bufio.NewWriter(w)
	width := o.width()
	blocks := slices.DeleteFunc(slices.Clone(p.blocks), func(b block) bool { return b.aside })
	for i, b := range blocks {
		if i > 0 && apart(blocks[i-1], b) {
			out.WriteByte('\n')
		}
		for _, line := range lines(b, width) {
			out.WriteString(painted(strings.TrimRight(line, " "), b, o.Color))
			out.WriteByte('\n')
		}
	}
	return out.Flush()
}

// apart says whether two blocks are separated by an empty line.
func apart(last, next block) bool {
	before, after := last.kind, next.kind
	switch after {
	case heading, title, picture:
		return true
	case subheading:
		return before != heading
	case grid:
		return before != heading && before != subheading
	case sentence:
		return before == grid || before == picture || before == item || before == sentence && last.tone != next.tone
	}
	return before != item && before != heading && before != subheading && before != sentence
}

func lines(b block, width int) []string {
	switch b.kind {
	case grid:
		return b.table.lines(width)
	case picture:
		return pictureLines(b.lines, width)
	case item:
		wrapped := wrap(b.text, width-2)
		for i := range wrapped {
			wrapped[i] = []string{"  ", "- "}[btoi(i == 0)] + wrapped[i]
		}
		return wrapped
	}
	return wrap(b.text, width)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Title returns a line as a terminal shows a title, in bold if it has colours.
func Title(line string, color bool) string { return painted(line, block{kind: title}, color) }

// Alarm returns a line as a terminal shows what must not be overlooked, in yellow if it has colours.
func Alarm(line string, color bool) string {
	return painted(line, block{kind: sentence, tone: loud}, color)
}

func painted(line string, b block, color bool) string {
	if !color || line == "" {
		return line
	}
	switch {
	case b.kind == title || b.kind == heading:
		return bold + line + reset
	case b.tone == loud:
		return yellow + line + reset
	case b.tone == quiet:
		return dim + line + reset
	}
	return line
}

// wrap breaks text into lines of at most width runes, at spaces where it can.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if utf8.RuneCountInString(joined) <= width {
				line = joined
				break
			}
			if line != "" {
				lines, line = append(lines, line), ""
				continue
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
	}
	return append(lines, line)
}

const gap = 2 // columns between two columns

// lines formats the table. If it is too wide, names are shortened; if it still is, the other columns
// follow below, with the names repeated.
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

// cut shortens text in the middle, because names often differ at an end.
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

// Options are options of the terminal.
type Options struct {
	Width int  // columns, 40 to 80; 0 and more than 80 mean 80
	Color bool // ANSI colours
	Full  bool // every table, and not the summary alone
}

const (
	minWidth = 40
	maxWidth = 80
)

func (o Options) width() int {
	if o.Width == 0 {
		return maxWidth
	}
	return min(max(o.Width, minWidth), maxWidth)
}

var bars = []rune("▁▂▃▄▅▆▇█")

// pictureLines draws the stripes below each other on the time axis of the longest.
func pictureLines(stripes []stripe, width int) []string {
	label, steps := 0, 0
	for _, s := range stripes {
		label = max(label, utf8.RuneCountInString(s.label))
		steps = max(steps, len(s.values))
	}
	label = min(label, width/4)
	room := width - label - gap
	var out []string
	for _, s := range stripes {
		drawn := spark(fit(lengthened(s.values, steps), room), s.top)
		if s.marks != nil {
			drawn = marked(s.marks, steps, room)
		}
		out = append(out, pad(s.label, label, false)+strings.Repeat(" ", gap)+drawn)
	}
	return out
}

func lengthened(values []float64, steps int) []float64 {
	out := slices.Clone(values)
	for len(out) < steps {
		out = append(out, math.NaN())
	}
	return out
}

// fit averages the values into room steps, or repeats them if there are fewer, without NaN values.
func fit(values []float64, room int) []float64 {
	if len(values) == 0 {
		return nil
	}
	out := make([]float64, room)
	for i := range out {
		from := i * len(values) / room
		total, n := 0.0, 0
		for _, v := range values[from:max(from+1, (i+1)*len(values)/room)] {
			if !math.IsNaN(v) {
				total, n = total+v, n+1
			}
		}
		out[i] = total / float64(n) // NaN without values
	}
	return out
}

// spark draws 0 as the lowest bar, top as the highest, and NaN as a space.
func spark(values []float64, top float64) string {
	var line strings.Builder
	for _, v := range values {
		if math.IsNaN(v) || top <= 0 {
			line.WriteByte(' ')
			continue
		}
		i := int(math.Round(v / top * float64(len(bars)-1)))
		line.WriteRune(bars[min(max(i, 0), len(bars)-1)])
	}
	return line.String()
}

// marked writes each text at its step, if there is room.
func marked(marks map[int]string, steps, room int) string {
	line := []rune(strings.Repeat(" ", room))
	free := 0
	for step := range steps {
		text := []rune(marks[step])
		at := step * room / max(steps, 1)
		if len(text) == 0 || at < free || at+len(text) > room {
			continue
		}
		copy(line[at:], text)
		free = at + len(text) + 1
	}
	return string(line)
}
