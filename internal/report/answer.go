package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"rpclab/internal/result"
)

// outcome summarizes the verdicts on one pair of arms and one metric over all cells.
type outcome struct {
	arm, of   string
	decisions map[string]int // how many cells have each
	low, high float64        // of the ratios that are decided
	bound     result.RatioBound
}

// Answer is the finding of a run in a sentence or two. If backends were added, removed or killed, it
// names the arms that lost calls and how soon each recovered. Otherwise it summarizes the verdicts on
// the first headline metric on which any is decided.
func Answer(d result.Document) string {
	metrics := headlines(d)
	switch {
	case !measured(d) && !searched(d):
		return "Nothing was measured, so there is no answer."
	case asksAboutEvents(d):
		return answerOfEvents(d)
	}
	metric := answeredMetric(d)
	if all := outcomes(d, metric); slices.ContainsFunc(all, func(o outcome) bool { return o.high > 0 }) {
		where := map[string]string{"latency_p50": "At the median, ", "capacity": "Highest rate that holds: "}[metric]
		if where == "" {
			where = capital(metricName(metric)) + ", "
		}
		return where + strings.Join(answers(all, metric), "; ") + "."
	}
	switch {
	case len(metrics) > 0 && d.Partial:
		return "No verdict yet: rounds are missing."
	case len(metrics) > 0 && fewPairs(d):
		if d.Ended == result.EndedTime {
			return fmt.Sprintf("No verdict: only %s fit in the time limit, and at least %d are needed to tell a difference from chance: use --for %s.",
				plural(d.Rounds, "round"), fewestRounds, timeFor(d, fewestRounds))
		}
		return fmt.Sprintf("No verdict: %s, and at least %d are needed to tell a difference from chance.", plural(d.Rounds, "round"), fewestRounds)
	case len(metrics) > 0 && noneFit(d):
		return "No verdict: " + cmp.Or(bottleneck(d), "the full report says why") + "."
	case len(metrics) > 0:
		return "No difference found between " + clean(d.Baseline) + " and any other arm."
	}
	return "No verdict: there was nothing to compare."
}

// fewPairs reports whether no verdict had enough pairs to tell a difference from chance. Arms that took
// turns have more pairs than rounds.
func fewPairs(d result.Document) bool {
	if inTurns[d.Design] == "" {
		return d.Rounds < fewestRounds
	}
	return !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Rounds >= fewestRounds })
}

// timeFor is a time limit, as --for takes it, in which a number of rounds fit with a fifth to spare.
func timeFor(d result.Document, rounds int) string {
	if d.Finished == nil || d.Rounds == 0 {
		return "a longer time"
	}
	seconds := math.Ceil(1.2 * d.Finished.Sub(d.Started).Seconds() * float64(rounds) / float64(d.Rounds))
	return (time.Duration(seconds) * time.Second).String()
}

// noneFit says whether no headline verdict could be reached whatever the numbers are.
func noneFit(d result.Document) bool {
	return !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool { return v.Kind.AnswersQuestion() && !v.Secondary && !v.Unfit })
}

// bottleneck names the arms in which the load generator was the bottleneck.
func bottleneck(d result.Document) string {
	if names := limitedArms(d); len(names) > 0 {
		return "the load generator was the bottleneck in " + some(names, len(armNames(d)))
	}
	return ""
}

// headlines are the metrics of the verdicts that answer the question, the lower percentiles first.
func headlines(d result.Document) (metrics []string) {
	for _, v := range d.Verdicts {
		if v.Kind.AnswersQuestion() && !v.Secondary && !slices.Contains(metrics, v.Metric) {
			metrics = append(metrics, v.Metric)
		}
	}
	slices.Sort(metrics)
	return metrics
}

// answeredMetric is the headline metric that the answer is on: the first on which anything is
// decided, else the first; "" without verdicts.
func answeredMetric(d result.Document) string {
	all := headlines(d)
	for _, metric := range all {
		if slices.ContainsFunc(outcomes(d, metric), func(o outcome) bool { return o.high > 0 }) {
			return metric
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
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
// arms.
func answers(all []outcome, metric string) (clauses []string) {
	better, worse, same, unit := "faster than", "slower than", "as fast as", "times as long"
	if metric == "capacity" {
		better, worse, same, unit = "higher than", "lower than", "the same as", "times as many calls a second"
	}
	add := func(words, of string, is func(outcome) bool, ratios bool) {
		var names, times []string
		for _, o := range all {
			if is(o) && o.of == of {
				names, times = append(names, clean(o.arm)), append(times, boundedRatio(fromTo(o.low, o.high, ratio), o.bound))
			}
		}
		if len(names) == 0 {
			return
		}
		clause := listed(names, mostNamed) + map[bool]string{true: " is ", false: " are "}[len(names) == 1] + words + " " + clean(of)
		if ratios {
			clause += " (" + listed(times, mostNamed) + " " + unit + ")"
		}
		clauses = append(clauses, clause)
	}
	only := func(decision string) func(outcome) bool {
		return func(o outcome) bool { return len(o.decisions) == 1 && o.decisions[decision] > 0 }
	}
	var references distinct
	var open []string
	for _, o := range all {
		references.add(o.of)
		if only("undecided")(o) {
			open = append(open, clean(o.arm))
		}
	}
	for _, of := range references.list {
		add(better, of, only("better"), true)
		add(worse, of, only("worse"), true)
		add(same, of, only("equivalent"), false)
		add("different by cell from", of, func(o outcome) bool { return len(o.decisions) > 1 }, true)
	}
	if len(open) > 0 {
		clauses = append(clauses, "undecided for "+listed(open, mostNamed))
	}
	return clauses
}
