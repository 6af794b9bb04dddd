package report

import (
	"bufio"
	"io"
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

// apart says whether an empty line stands between two blocks.
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
