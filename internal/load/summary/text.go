package summary

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// Width is the largest width of a line, in columns.
const Width = 80

// count formats a count with separators: 12,345.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// calls formats a number of calls: 1 call, 2 calls.
func calls(n uint64) string {
	if n == 1 {
		return "1 call"
	}
	return count(n) + " calls"
}

// rate formats calls/s.
func rate(perSecond float64) string {
	if perSecond < 1000 {
		return fmt.Sprintf("%.4g", perSecond)
	}
	return count(uint64(math.Round(perSecond)))
}

// ms formats milliseconds in at most 7 columns, with microseconds below 10 ms.
func ms(msecs float64) string {
	switch {
	case msecs < 9.9995:
		return fmt.Sprintf("%.3f", msecs)
	case msecs < 99.995:
		return fmt.Sprintf("%.2f", msecs)
	case msecs < 9999.95:
		return fmt.Sprintf("%.1f", msecs)
	case msecs < 999_999.5:
		return count(uint64(math.Round(msecs)))
	}
	return fmt.Sprintf("%.0f", msecs) // a separator would take the eighth column
}

// figure formats a figure of calls; "–": there were none.
func figure(of result.Histogram, name string) string {
	if of.Empty() {
		return "–"
	}
	return atLeast(of.Figure(name))
}

// atLeast formats a figure in milliseconds, and marks a lower bound.
func atLeast(figure result.Figure) string {
	if figure.Lower {
		return ">" + ms(figure.Value)
	}
	return ms(figure.Value)
}

// duration formats a time in a suitable unit.
func duration(msecs float64) string {
	switch {
	case msecs < 0.9995:
		return fmt.Sprintf("%.3g µs", msecs*1e3)
	case msecs < 999.5:
		return fmt.Sprintf("%.3g ms", msecs)
	}
	return report.ThreeDigits(msecs/1e3) + " s"
}

func paragraph(out io.Writer, text string) { wrap(out, text, "", "") }

func item(out io.Writer, text string) { wrap(out, text, "- ", "  ") }

// wrap writes text in lines of at most [Width] characters. first precedes the first line, others
// the other lines.
func wrap(out io.Writer, text, first, others string) {
	line, used := first, 0
	for _, word := range strings.Fields(text) {
		for word != "" {
			room := Width - utf8.RuneCountInString(line)
			if used > 0 {
				room--
			}
			if size := utf8.RuneCountInString(word); size > room && used > 0 {
				fmt.Fprintln(out, line)
				line, used = others, 0
				continue
			}
			part := []rune(word)
			part = part[:min(len(part), room)]
			if used > 0 {
				line += " "
			}
			line, used, word = line+string(part), used+1, word[len(string(part)):]
		}
	}
	fmt.Fprintln(out, line)
}

// truncate shortens text to a number of characters.
func truncate(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
