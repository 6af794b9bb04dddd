package report

import (
	"regexp"
	"strconv"
	"strings"
)

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// mergedTexts holds texts, each once: those that differ in their numbers alone are one,
// with the range of each number.
type mergedTexts struct {
	forms []string
	spans [][][2]float64
}

// exactly adds a text whose numbers may be part of a name.
func (r *mergedTexts) exactly(text string) int { return r.add(text, nil) }

// loosely adds a text whose numbers may differ. Both give its place in texts.
func (r *mergedTexts) loosely(text string) int {
	return r.add(digits.ReplaceAllString(text, "\x00"), digits.FindAllString(text, -1))
}

func (r *mergedTexts) add(form string, numbers []string) int {
	at := 0
	for at < len(r.forms) && r.forms[at] != form {
		at++
	}
	known := at < len(r.forms)
	if !known {
		r.forms, r.spans = append(r.forms, form), append(r.spans, nil)
	}
	for i, text := range numbers {
		n, _ := strconv.ParseFloat(text, 64) // digits fail only by size, and are infinite then
		if !known {
			r.spans[at] = append(r.spans[at], [2]float64{n, n})
			continue
		}
		r.spans[at][i] = [2]float64{min(r.spans[at][i][0], n), max(r.spans[at][i][1], n)}
	}
	return at
}

func (r *mergedTexts) texts() []string {
	out := make([]string, len(r.forms))
	for i, form := range r.forms {
		for _, span := range r.spans[i] {
			text := strconv.FormatFloat(span[0], 'f', -1, 64)
			if span[1] > span[0] {
				text += "–" + strconv.FormatFloat(span[1], 'f', -1, 64)
			}
			form = strings.Replace(form, "\x00", text, 1)
		}
		out[i] = form
	}
	return out
}
