package report

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

var bars = []rune("▁▂▃▄▅▆▇█")

// pictureLines draws the stripes below each other on one time axis, that of the
// longest: a shorter one has nothing to show at its end.
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

// fit averages the values into room steps, or repeats them when they are fewer; NaN
// values do not count.
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
		out[i] = total / float64(n) // NaN when there was none
	}
	return out
}

// spark draws 0 as the lowest bar and top as the highest, no value as a space.
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

// marked writes each text at its step, as far as the one before leaves room.
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
