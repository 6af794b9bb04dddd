package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"rpclab/internal/result"
)

// outcome is a decision on one pair of arms and one metric, with the cells that have it.
type outcome struct {
	arm, of, decision string
	cells             []result.Cell
	everywhere        bool       // no cell has another decision
	some              bool       // other cells have another decision, and so many arms have such cells that none is named
	low, high         float64    // of the ratios
	ci                [2]float64 // over the cells that can be judged; 0: none, so there is no verdict
	bound             result.RatioBound
	lost              float64 // the largest share of calls whose loss left a cell without a verdict
}

// headlines are the metrics of the verdicts that answer the question, in the order of the document or, in
// older documents, the lower percentiles first.
func headlines(d result.Document) (metrics []string) {
	for _, v := range d.Verdicts {
		if v.Kind.AnswersQuestion() && !v.Secondary && !slices.Contains(metrics, v.Metric) {
			metrics = append(metrics, v.Metric)
		}
	}
	slices.SortFunc(metrics, inOrder(d.Headline))
	return metrics
}

// inOrder compares metrics by their order in a headline, and the others by name.
func inOrder(headline []string) func(a, b string) int {
	place := func(metric string) int {
		if i := slices.Index(headline, metric); i >= 0 {
			return i
		}
		return len(headline)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }
}

func (o outcome) decided() bool { return o.decision != "undecided" }

// judged reports whether the arm has an interval in any cell.
func (o outcome) judged() bool { return o.ci[1] > 0 }

// where is " at burst = 1 and 2", or "" if no cell has another decision.
func (o outcome) where() string {
	switch {
	case o.everywhere:
		return ""
	case !o.some:
		return at(o.cells...)
	case o.decided():
		return " in some cells"
	default:
		return " in others"
	}
}

// rangeOf is the range of the intervals of all outcomes; 0: none has one.
func rangeOf(all []outcome) (ci [2]float64) {
	for _, o := range all {
		ci = union(ci, o.ci)
	}
	return ci
}

// union is the range of two intervals, each 0 if there is none.
func union(a, b [2]float64) [2]float64 {
	switch {
	case a[1] == 0:
		return b
	case b[1] == 0:
		return a
	}
	return [2]float64{min(a[0], b[0]), max(a[1], b[1])}
}

// outcomes are those of each pair in the order of the document, better ones first. Cells without a verdict are apart from
// those whose difference may be in a range.
func outcomes(d result.Document, metric string) (all []outcome) {
	type key struct {
		arm, of, decision string
		judged            bool
	}
	place := map[key]int{}
	arms := map[result.ArmKey]result.Arm{}
	for _, a := range d.Arms {
		arms[a.Key()] = a
	}
	decisions := map[key]int{} // of each pair
	for _, v := range d.Verdicts {
		if !v.Kind.AnswersQuestion() || v.Secondary || v.Metric != metric {
			continue
		}
		judged := !v.Unfit && v.Rounds >= fewestRounds
		this := key{v.A, v.B, v.Decision, judged || v.Decision != "undecided"}
		i, known := place[this]
		if !known {
			i = len(all)
			place[this] = i
			decisions[key{arm: v.A, of: v.B}]++
			all = append(all, outcome{arm: v.A, of: v.B, decision: v.Decision, low: v.Ratio})
		}
		o := &all[i]
		o.cells = append(o.cells, v.Cell)
		if judged {
			o.ci = union(o.ci, v.CI)
		} else if v.OfLostCalls() {
			o.lost = max(o.lost, arms[result.ArmKey{Name: v.A, Cell: v.Cell.Key()}].Lost())
		}
		o.low, o.high, o.bound = min(o.low, v.Ratio), max(o.high, v.Ratio), cmp.Or(o.bound, v.Bound)
	}
	for i, o := range all {
		all[i].everywhere = decisions[key{arm: o.arm, of: o.of}] == 1
	}
	return all
}

// answers has one clause for each decision and reference arm, and last those of the undecided arms, with the range of
// the difference that is still possible, and those of the arms without a verdict. Arms with other decisions in other cells have clauses of their own.
func answers(d result.Document, all []outcome, metric string) (clauses []string) {
	words := comparativeOf(metric)
	all = brief(all)
	within := func(who []outcome) string {
		if ci := rangeOf(who); ci[1] > 0 && metric != "failed" {
			return " (" + percentRange(ci) + ": no difference that matters)"
		}
		return ""
	}
	decisions := []struct {
		name string
		text [2]string // of one arm, and of several
	}{{"better", words.better}, {"worse", words.worse}, {"equivalent", words.same}, {byCell, [2]string{"is different by cell from", "are different by cell from"}}}
	var references distinct
	for _, o := range all {
		references.add(o.of)
	}
	for _, reference := range references.list {
		for _, decision := range decisions {
			is := func(o outcome) bool { return o.of == reference && o.decision == decision.name }
			for _, who := range byWhere(all, is) {
				verb := " " + decision.text[min(len(who), 2)-1] + " " + clean(reference)
				if decision.name == "equivalent" {
					clauses = append(clauses, namesOf(who)+verb+within(who)+who[0].where())
				} else {
					clauses = append(clauses, different(d, metric, who, verb)+who[0].where())
				}
			}
		}
	}
	for _, open := range byWhere(all, func(o outcome) bool { return !o.decided() && o.judged() }) {
		text := "undecided for " + namesOf(open) + open[0].where()
		if metric != "failed" {
			text += " (" + percentRange(rangeOf(open)) + ")"
		}
		clauses = append(clauses, text)
	}
	return append(clauses, unjudged(all)...)
}

// unjudged has a clause for the arms without a verdict: those that are undecided and have no interval.
func unjudged(all []outcome) (clauses []string) {
	for _, who := range byWhere(all, func(o outcome) bool { return !o.decided() && !o.judged() }) {
		most := slices.MaxFunc(who, func(a, b outcome) int { return cmp.Compare(a.lost, b.lost) }).lost
		clause := "no verdict for " + namesOf(who) + who[0].where()
		if most > 0 {
			clause += fmt.Sprintf(" (%s%s of the calls were lost)", map[bool]string{true: "up to "}[len(who) > 1 || len(who[0].cells) > 1], shareOfCalls(most))
		}
		clauses = append(clauses, clause)
	}
	return clauses
}

// different is a clause on arms that differ from another: one or two with their figures at the end, of more each with its
// own, the largest differences first.
func different(d result.Document, metric string, who []outcome, verb string) string {
	unit, against := " "+comparativeOf(metric).unit, ""
	figure := func(o outcome) string { return figureOfBound(o) }
	if metric == "failed" || metric == "followed" { // the values say more than their ratio
		unit, against = "", valueOf(d, who[0].of, metric, who[0].cells)
		figure = func(o outcome) string { return valueOf(d, o.arm, metric, o.cells) }
	}
	var figures []string
	if len(who) <= 2 {
		for _, o := range who {
			figures = append(figures, figure(o))
		}
		if against != "" {
			against = " against " + against
		}
		return namesOf(who) + verb + " (" + and(figures) + unit + against + ")"
	}
	size := func(o outcome) float64 { return math.Abs(math.Log(o.low * o.high)) }
	who = slices.Clone(who)
	slices.SortStableFunc(who, func(a, b outcome) int { return cmp.Compare(size(b), size(a)) })
	for _, o := range who {
		figures = append(figures, clean(o.arm)+" ("+figure(o)+unit+")")
		unit = ""
	}
	if against != "" {
		against = " (" + against + ")"
	}
	return listed(figures, mostNamed) + verb + against
}

// figureOfBound is the range of the ratios of an outcome.
func figureOfBound(o outcome) string {
	if ratio(o.low) == ratio(o.high) {
		return boundedRatio(o.low, o.bound)
	}
	return boundInWords(o.bound) + fromTo(o.low, o.high, func(v float64) string { return ratio(outward(v, o.bound)) })
}

// byCell is the decision on a pair of arms that differ in opposite or other ways in other cells, where too few fit in a
// sentence.
const byCell = "by cell"

// brief names no cells if arms have different decisions in so many of them that no sentence can.
func brief(all []outcome) (merged []outcome) {
	if len(byWhere(all, func(o outcome) bool { return !o.everywhere })) <= mostNamed {
		return all
	}
	for _, o := range all {
		i := slices.IndexFunc(merged, func(m outcome) bool { return m.arm == o.arm && m.of == o.of && m.decided() == o.decided() })
		if i < 0 || !o.decided() {
			o.some = !o.everywhere
			merged = append(merged, o)
			continue
		}
		m := &merged[i]
		m.decision, m.low, m.high, m.bound = byCell, min(m.low, o.low), max(m.high, o.high), cmp.Or(m.bound, o.bound)
		m.cells = append(slices.Clip(m.cells), o.cells...)
	}
	for i, m := range merged {
		if m.decision == byCell {
			merged[i].everywhere = true
		}
	}
	return merged
}

// byWhere groups the outcomes of which something is true by their cells, those of all cells first.
func byWhere(all []outcome, is func(outcome) bool) (groups [][]outcome) {
	var texts distinct
	texts.add("")
	for _, o := range all {
		if is(o) {
			texts.add(o.where())
		}
	}
	for _, text := range texts.list {
		other := func(o outcome) bool { return !is(o) || o.where() != text }
		if group := slices.DeleteFunc(slices.Clone(all), other); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// namesOf are the first names of the arms, and the number of the others.
func namesOf(who []outcome) string {
	var names []string
	for _, o := range who {
		names = append(names, clean(o.arm))
	}
	return listed(names, mostNamed)
}

// valueOf is the value of an arm on failed or followed, over these cells.
func valueOf(d result.Document, arm, metric string, cells []result.Cell) string {
	elsewhere := func(a result.Arm) bool {
		return !slices.ContainsFunc(cells, func(c result.Cell) bool { return c.Key() == a.Cell.Key() })
	}
	return valueText(metric, slices.DeleteFunc(armsByName(d)[arm], elsewhere)...)
}

// ValuesOf returns the values of both arms of a verdict whose ratio says nothing, such as "64 % against none"; "": the ratio
// says enough, or no value does.
func ValuesOf(d result.Document, v result.Verdict) string {
	if v.Ratio == 0 || v.HasRatio() || v.OfLostCalls() {
		return ""
	}
	cells := []result.Cell{v.Cell}
	return valueOf(d, v.A, v.Metric, cells) + " against " + valueOf(d, v.B, v.Metric, cells)
}

func valueText(metric string, cells ...result.Arm) string {
	text := overCells(cells, metric, comparativeOf(metric).show)
	if metric == "followed" && text != never {
		text += " ms"
	}
	return text
}

// roundsNeeded is how many rounds the verdicts need that have too few.
func roundsNeeded(d result.Document) int {
	most := fewestRounds
	for _, v := range d.Verdicts {
		if v.Kind.AnswersQuestion() && !v.Secondary && v.Cause != nil && v.Cause.Kind == result.CauseRounds {
			most = max(most, int(v.Cause.Needed))
		}
	}
	return most
}

// inMoreRounds returns how long a quick run with so many rounds takes; "": the run was not quick.
func inMoreRounds(d result.Document, rounds int) string {
	if !d.Quick || d.Finished == nil || d.Rounds == 0 {
		return ""
	}
	took := d.Finished.Sub(d.Started) * time.Duration(rounds) / time.Duration(d.Rounds)
	return fmt.Sprintf(": --quick --rounds %d takes about %s", rounds, roughly(took))
}

// roughly returns a time in minutes or, if it is short, in tens of seconds.
func roughly(d time.Duration) string {
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", 10*math.Ceil(d.Seconds()/10))
	}
	return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
}
