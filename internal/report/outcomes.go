package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"rpclab/internal/result"
)

// outcome summarizes the verdicts on one pair of arms and one metric over all cells.
type outcome struct {
	arm, of   string
	decisions map[string]int // how many cells have each
	low, high float64        // of the ratios that are decided
	ci        [2]float64     // over the cells that can be judged; 0: none
	bound     result.RatioBound
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

// decided says that any cell has a decision.
func (o outcome) decided() bool { return o.high > 0 }

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

func outcomes(d result.Document, metric string) (all []outcome) {
	place := map[[2]string]int{}
	for _, v := range d.Verdicts {
		if !v.Kind.AnswersQuestion() || v.Secondary || v.Metric != metric {
			continue
		}
		i, known := place[[2]string{v.A, v.B}]
		if !known {
			i = len(all)
			place[[2]string{v.A, v.B}] = i
			all = append(all, outcome{arm: v.A, of: v.B, decisions: map[string]int{}})
		}
		o := &all[i]
		o.decisions[v.Decision]++
		if !v.Unfit && v.Rounds >= fewestRounds {
			o.ci = union(o.ci, v.CI)
		}
		if v.Decision == "undecided" {
			continue
		}
		if o.high == 0 {
			o.low = v.Ratio
		}
		o.low, o.high, o.bound = min(o.low, v.Ratio), max(o.high, v.Ratio), cmp.Or(o.bound, v.Bound)
	}
	return all
}

// answers has one clause for each kind of outcome and reference arm, and a last one for the undecided
// arms, with the range of the difference that is still possible.
func answers(d result.Document, all []outcome, metric string) (clauses []string) {
	words := comparativeOf(metric)
	of := func(reference string, is func(outcome) bool) (who []outcome, names []string) {
		for _, o := range all {
			if is(o) && o.of == reference {
				who, names = append(who, o), append(names, clean(o.arm))
			}
		}
		return who, names
	}
	add := func(text [2]string, reference string, is func(outcome) bool, brackets func([]outcome) string) {
		if who, names := of(reference, is); len(names) > 0 {
			clauses = append(clauses, listed(names, mostNamed)+" "+text[min(len(names), 2)-1]+" "+clean(reference)+brackets(who))
		}
	}
	ratios := func(who []outcome) string {
		var times []string
		for _, o := range who {
			times = append(times, boundedRatio(fromTo(o.low, o.high, ratio), o.bound))
		}
		return " (" + listed(times, mostNamed) + " " + words.unit + ")"
	}
	if metric == "failed" || metric == "followed" { // the values say more than their ratio
		ratios = func(who []outcome) string {
			var values []string
			for _, o := range who {
				values = append(values, valueOf(d, o.arm, metric))
			}
			return " (" + listed(values, mostNamed) + " against " + valueOf(d, who[0].of, metric) + ")"
		}
	}
	within := func(who []outcome) string {
		if ci := rangeOf(who); ci[1] > 0 && metric != "failed" {
			return " (" + percentRange(ci) + ": no difference that matters)"
		}
		return ""
	}
	only := func(decision string) func(outcome) bool {
		return func(o outcome) bool { return len(o.decisions) == 1 && o.decisions[decision] > 0 }
	}
	var references distinct
	for _, o := range all {
		references.add(o.of)
	}
	for _, reference := range references.list {
		add(words.better, reference, only("better"), ratios)
		add(words.worse, reference, only("worse"), ratios)
		add(words.same, reference, only("equivalent"), within)
		add([2]string{"is different by cell from", "are different by cell from"}, reference, func(o outcome) bool { return len(o.decisions) > 1 }, ratios)
	}
	if open := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !only("undecided")(o) }); len(open) > 0 {
		var names []string
		for _, o := range open {
			names = append(names, clean(o.arm))
		}
		text := "undecided for " + listed(names, mostNamed)
		if ci := rangeOf(open); ci[1] > 0 && metric != "failed" {
			text += " (" + percentRange(ci) + ")"
		}
		clauses = append(clauses, text)
	}
	return clauses
}

// valueOf is the value of an arm on failed or followed, over its cells.
func valueOf(d result.Document, arm, metric string) string {
	return valueText(metric, armsByName(d)[arm]...)
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

// inMoreRounds returns how long a quick run with enough rounds takes; "": the run was not quick.
func inMoreRounds(d result.Document) string {
	if !d.Quick || d.Finished == nil || d.Rounds == 0 {
		return ""
	}
	least := roundsNeeded(d)
	took := d.Finished.Sub(d.Started) * time.Duration(least) / time.Duration(d.Rounds)
	return fmt.Sprintf(": --quick --rounds %d takes about %s", least, roughly(took))
}

// roughly returns a time in minutes or, if it is short, in tens of seconds.
func roughly(d time.Duration) string {
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", 10*math.Ceil(d.Seconds()/10))
	}
	return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
}
