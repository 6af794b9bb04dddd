package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// reservations are what a reader has to know before using the numbers, a line or two each.
func reservations(p *page, d result.Document) {
	if lost := lossesInWords(d); lost != "" && !asksAboutEvents(d) {
		p.alarm(lost)
	}
	if text := bottleneck(d); text != "" {
		mark := "† T"
		if asksAboutEvents(d) { // whose table has no latency to mark
			mark = "T"
		}
		p.alarm(mark + strings.TrimPrefix(text, "t") + ": no latency verdict.")
	}
	for _, c := range controlTexts(d) {
		if c.bad {
			p.alarm(c.text)
		}
	}
	if n := len(d.Warnings); n > 0 {
		text := "Warning: " + clean(d.Warnings[0])
		if n > 1 {
			text = fmt.Sprintf("%d warnings, the first: %s", n, clean(d.Warnings[0]))
		}
		p.alarm(shortened(text, 76))
	}
	made := strings.Join(filled(progress(d), lasted(d)), ", ")
	switch {
	case d.Partial:
		made = "Partial: " + made
	case d.Quick:
		made = "Scaled down by --quick: " + made
	}
	p.item(made + ".")
}

// shortened is the beginning of a text that is too long for a line.
func shortened(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return strings.TrimSpace(string(runes[:width-1])) + "…"
}

// limitedArms are those whose numbers the load generator bounded.
func limitedArms(d result.Document) (names []string) {
	for _, a := range d.Arms {
		if name := clean(a.Name); a.Limited != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// some lists up to four names, and counts more.
func some(names []string, of int) string {
	switch {
	case len(names) == of && of > 1:
		return "every arm"
	case len(names) > 4:
		return fmt.Sprintf("%d of %d arms", len(names), of)
	}
	return and(names)
}

// armNames are those of a document, each once.
func armNames(d result.Document) (names []string) {
	for _, a := range d.Arms {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// lossesInWords says which arms lost calls: failed or dropped ones.
func lossesInWords(d result.Document) string {
	var names []string
	for _, name := range armNames(d) {
		if lost, due := losses(d, name); lost > 0 {
			names = append(names, fmt.Sprintf("%s %s of %s", clean(name), count(lost), count(due)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Failed or dropped calls: " + listed(names, 4) + "."
}

// listed are the first of some names, and how many more there are.
func listed(names []string, most int) string {
	if len(names) <= most {
		return and(names)
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %s more", number(float64(len(names)-most)))
}

// losses are the calls of an arm that failed or were dropped, and those that were due, over all cells.
func losses(d result.Document, arm string) (lost, due uint64) {
	for _, a := range d.Arms {
		if a.Name == arm {
			lost, due = lost+a.Failed()+a.Dropped, due+a.Calls+a.Dropped
		}
	}
	return lost, due
}
