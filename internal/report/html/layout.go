package html

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// functions are what the layout calls.
var functions = template.FuncMap{
	"code":   code,
	"groups": groups,
	"after":  after,
	"cards":  cardsIn,
	"hides":  func(all []report.Card) bool { return len(worthACard(all)) < len(all) },
	"width":  func(c report.CardLine) string { return fmt.Sprintf("%.2f", max(c.High-c.Low, 0.5)) },
	"px":     func(v float64) string { return fmt.Sprintf("%.2f", v) },
}

// code formats the text between backquotes as code.
func code(text string) template.HTML {
	parts := strings.Split(text, "`")
	for i := range parts {
		parts[i] = template.HTMLEscapeString(parts[i])
		if i%2 == 1 {
			parts[i] = "<code>" + parts[i] + "</code>"
		}
	}
	return template.HTML(strings.Join(parts, ""))
}

// group is parts that are drawn together: a run of items is one list, all else is alone.
type group struct {
	Kind  string
	Parts []report.Element
}

func groups(parts []report.Element) (all []group) {
	for _, p := range parts {
		if last := len(all) - 1; last >= 0 && p.Kind == "item" && all[last].Kind == "item" {
			all[last].Parts = append(all[last].Parts, p)
			continue
		}
		all = append(all, group{Kind: p.Kind, Parts: []report.Element{p}})
	}
	return all
}

// after are the parts without the heading that they begin with, which the layout gives in
// its own words.
func after(parts []report.Element) []report.Element {
	if len(parts) > 0 && parts[0].Kind == "heading" {
		return parts[1:]
	}
	return parts
}

// cardsIn are those of one cell, the ones against the baseline first.
func cardsIn(all []report.Card, cell string) (mine []report.Card) {
	for _, kind := range []result.VerdictKind{result.OfBaseline, result.OfAgainst, result.OfControl, result.OfConfound} {
		for _, c := range worthACard(all) {
			if c.Cell == cell && c.Kind == kind {
				mine = append(mine, c)
			}
		}
	}
	return slices.Clip(mine)
}

// mostCards is up to how many cards of a cell are all shown.
const mostCards = 9

// worthACard leaves out the cards that decide nothing if a cell has too many cards. The table of verdicts
// contains them.
func worthACard(all []report.Card) []report.Card {
	perCell := map[string]int{}
	for _, c := range all {
		perCell[c.Cell]++
	}
	return slices.DeleteFunc(slices.Clone(all), func(c report.Card) bool {
		open := !slices.ContainsFunc(c.Lines, func(l report.CardLine) bool { return l.Decision != "undecided" })
		return open && perCell[c.Cell] > mostCards
	})
}

// figures say which pictures have anything to show.
type figures struct{ Latency, Sweep, Capacity, Backends, Timeline, OverTime, Effects, Cost, Memory, Published bool }

func worthDrawing(v View) (f figures) {
	f.Sweep = len(v.Cells) > 1
	f.Effects = len(v.Effects) > 0
	for _, s := range v.Series {
		f.Latency = f.Latency || s.Curve != nil
		f.Capacity = f.Capacity || s.Capacity != nil
		f.Backends = f.Backends || len(s.Backends) > 1
		f.Timeline = f.Timeline || s.Timeline != nil && (len(s.Timeline.Marks) > 0 || len(s.Backends) > 1 || len(v.Arms) == 1) // one line of one backend compares nothing
		f.OverTime = f.OverTime || s.OverTime != nil
		f.Cost = f.Cost || len(s.Cost) > 0
		f.Memory = f.Memory || s.Memory != nil
		f.Published = f.Published || len(s.Published) > 0
	}
	return f
}
