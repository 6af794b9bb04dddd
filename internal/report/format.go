package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rpclab/internal/result"
)

const none = "–"

// never is a time that did not end.
const never = "never"

// tooShort is a time that the next event, or the last call, came too soon to show.
const tooShort = "too short"

// notComplete stands for the time until callers avoid backends that rpclab was still replacing at the end of the load.
const notComplete = "not complete"

// notKnown is a value that rpclab could not measure.
const notKnown = "?"

// noVerdict is what a guard leaves. It is no undecided verdict, which more rounds may decide.
const noVerdict = "no verdict"

// notPerformed stands for the effects of an event that rpclab could not perform.
const notPerformed = "failed"

// number groups the digits of a whole number: 12,345.
func number(v float64) string {
	digits := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if math.Round(v) < 0 {
		return "-" + digits
	}
	return digits
}

func count(n uint64) string { return number(float64(n)) }

// ms formats milliseconds with three significant digits.
func ms(v float64) string {
	switch size := math.Abs(v); {
	case size > 0 && size < 0.00995:
		return tiny(v)
	case size < 9.995:
		return fmt.Sprintf("%.2f", v)
	case size < 999.95:
		return fmt.Sprintf("%.1f", v)
	}
	return number(v)
}

// bounded shows a figure, with > if it is only a lower bound.
func bounded(f result.Figure, show func(float64) string) string {
	if f.Lower {
		return ">" + show(f.Value)
	}
	return show(f.Value)
}

// tiny has two significant digits, at most six decimals.
func tiny(v float64) string {
	decimals := min(6, 1-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Ratio returns a ratio as reports show it.
func Ratio(v float64) string { return ratio(v) }

func ratio(v float64) string {
	switch {
	case v >= result.Beyond:
		return "∞"
	case v > 0 && v <= 1/result.Beyond:
		return "0"
	case v > 0 && v < 0.00095:
		return "<0.001"
	case v > 0 && v < 0.0995:
		return tiny(v)
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	case v >= 999_999.5:
		return ">999,999"
	}
	return number(v)
}

func chance(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.2g", p)
}

// capital is the text with its first letter in upper case.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func megabytes(bytes uint64) string { return number(float64(bytes) / 1e6) }

// Size is a number of bytes, such as 1.25 MB.
func Size(bytes uint64) string {
	if bytes < 10_000_000 {
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return megabytes(bytes) + " MB"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// about is a time in two digits: 40 s, 2.5 min, 3 h.
func about(d time.Duration) string {
	digits := func(x float64) string {
		if x >= 10 {
			return fmt.Sprintf("%.0f", x)
		}
		return fmt.Sprintf("%.2g", x)
	}
	switch {
	case d <= 99*time.Second:
		return digits(math.Ceil(d.Seconds())) + " s"
	case d < 99*time.Minute+30*time.Second:
		return digits(d.Minutes()) + " min"
	}
	return digits(d.Hours()) + " h"
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// plural is "1 call", "2 calls".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if strings.HasSuffix(word, "s") {
		word += "e"
	}
	return number(float64(n)) + " " + word + "s"
}

// clean makes text from outside safe to print: one line, without control characters and backquotes.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cellName is "burst = 2,000": of each path the last field, where that is unique.
func cellName(c result.Cell) string {
	short := map[string]int{}
	last := func(path string) string { return path[strings.LastIndex(path, ".")+1:] }
	for path := range c {
		short[last(path)]++
	}
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(c)) {
		name := path
		if short[last(path)] == 1 {
			name = last(path)
		}
		parts = append(parts, clean(name+" = "+value(c[path])))
	}
	return strings.Join(parts, ", ")
}

// value formats a setting, the same from Go and from JSON.
func value(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && n == math.Trunc(n) {
		return number(n)
	}
	return string(text)
}

// median is NaN without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 || math.IsInf(sorted[middle], 1) {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// and joins "a, b and c".
func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// mostNamed is how many arms a clause of the answer names.
const mostNamed = 5

// rate formats calls/s with at least four significant digits.
func rate(v float64) string {
	if v < 999.5 {
		return fmt.Sprintf("%.4g", v)
	}
	return number(v)
}

// ThreeDigits has three significant digits, or all of a whole number from 100 on.
func ThreeDigits(v float64) string {
	if v < 99.5 {
		return fmt.Sprintf("%.3g", v)
	}
	return number(v)
}

// fromTo is a range, or one value if both ends look the same.
func fromTo[T any](low, high T, show func(T) string) string {
	if show(low) == show(high) {
		return show(low)
	}
	return show(low) + "–" + show(high)
}

func ratioOr(v float64) string {
	if v == 0 {
		return none
	}
	return ratio(v)
}

// probability formats a p-value for a table; "" of 0, which means none.
func probability(p float64) string {
	if p == 0 {
		return ""
	}
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}

func used(us float64) string {
	switch {
	case us <= 0:
		return ""
	case us < 10:
		return fmt.Sprintf("%.1f", us)
	}
	return number(us)
}

func peak(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return megabytes(bytes)
}

// interval formats a confidence interval, "" if there is none.
func interval(ci [2]float64) string {
	if ci == [2]float64{} {
		return ""
	}
	return ratio(ci[0]) + "–" + ratio(ci[1])
}

// filled are the parts that are not empty.
func filled(parts ...string) []string {
	var out []string
	for _, part := range parts {
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	return out
}

// some lists up to four of the names of so many arms, and counts more.
func some(names []string, of int) string {
	switch {
	case len(names) == of && of > 1:
		return "every arm"
	case len(names) > 4:
		return fmt.Sprintf("%d of %d arms", len(names), of)
	}
	return and(names)
}

// listed has the first names and the number of the others, if there are several others.
func listed(names []string, most int) string {
	if len(names) <= most+1 {
		return and(names)
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %s others", number(float64(len(names)-most)))
}

// at is " at burst = 1,000 and 2,000", or "" without a sweep. Cells after the first do not repeat the name of its only field.
func at(cells ...result.Cell) string {
	var names []string
	for i, c := range cells {
		name := cellName(c)
		if field, setting, _ := strings.Cut(name, " = "); i > 0 && len(c) == 1 && strings.HasPrefix(names[0], field+" = ") {
			name = setting
		}
		names = append(names, name)
	}
	if text := listed(names, mostNamed); text != "" {
		return " at " + text
	}
	return ""
}

// confidence formats a level with enough decimals to tell it from 100 %.
func confidence(level float64) string {
	decimals := max(0, math.Ceil(-math.Log10(100*(1-level))-1e-9))
	return fmt.Sprintf("%.*f %%", int(decimals), 100*level)
}

// percentRange is an interval of ratios as a difference: −37 % to +47 %.
func percentRange(ci [2]float64) string {
	low, high := percentChange(ci[0]), percentChange(ci[1])
	if low == high {
		return low
	}
	return low + " to " + high
}

func percentChange(ratio float64) string {
	change := 100 * (ratio - 1)
	text := number(math.Abs(change))
	if size := math.Abs(change); size < 9.95 && size >= 0.05 {
		text = fmt.Sprintf("%.1f", size)
	}
	switch {
	case ratio >= 999_999.5:
		return "any increase"
	case text == "0":
		return "0 %"
	case change < 0:
		return "−" + text + " %"
	}
	return "+" + text + " %"
}
