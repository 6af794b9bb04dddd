package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// outcome is what the verdicts on one arm came to on one metric, over the cells.
type outcome struct {
	arm       string
	decisions map[string]int // how many cells have each
	low, high float64        // of the ratios that are decided
}

// Answer says in one sentence what the verdicts against the baseline come to: on the first
// headline metric, or on the next one when nothing is decided on that.
func Answer(d result.Document) string {
	metrics := headlines(d)
	baseline := clean(d.Baseline)
	for _, metric := range metrics {
		all := outcomes(d, metric)
		if slices.ContainsFunc(all, func(o outcome) bool { return o.high > 0 }) {
			return fmt.Sprintf("Against %s, %s %s.", baseline, metricName(metric), strings.Join(answers(all, metric), "; "))
		}
	}
	switch {
	case !measured(d) && !searched(d):
		return "Nothing was measured, so there is no answer."
	case len(metrics) > 0 && d.Partial:
		return "No verdict yet: rounds are missing."
	case len(metrics) > 0 && d.Rounds < fewestRounds:
		return fmt.Sprintf("No verdict: %s, and at least %d are needed to tell a difference from chance.", plural(d.Rounds, "round"), fewestRounds)
	case len(metrics) > 0:
		return "No verdict: no arm could be told from " + baseline + " beyond doubt."
	}
	return "No verdict: there was nothing to compare."
}

// fewestRounds is how many a verdict needs: docs/decisions/0004-verdicts.md.
const fewestRounds = 4

// headlines are the metrics of the verdicts against the baseline, the lower percentiles first.
func headlines(d result.Document) (metrics []string) {
	for _, v := range d.Verdicts {
		if v.Kind == "baseline" && !v.Secondary && !slices.Contains(metrics, v.Metric) {
			metrics = append(metrics, v.Metric)
		}
	}
	slices.Sort(metrics)
	return metrics
}

func outcomes(d result.Document, metric string) (all []outcome) {
	for _, v := range d.Verdicts {
		if v.Kind != "baseline" || v.Secondary || v.Metric != metric {
			continue
		}
		i := slices.IndexFunc(all, func(o outcome) bool { return o.arm == v.A })
		if i < 0 {
			i = len(all)
			all = append(all, outcome{arm: v.A, decisions: map[string]int{}})
		}
		o := &all[i]
		o.decisions[v.Decision]++
		if v.Decision == "undecided" {
			continue
		}
		if o.high == 0 {
			o.low = v.Ratio
		}
		o.low, o.high = min(o.low, v.Ratio), max(o.high, v.Ratio)
	}
	return all
}

// answers has one clause for each kind of outcome, the arms that share it together.
func answers(all []outcome, metric string) (clauses []string) {
	better, worse, same, unit := "faster", "slower", "as fast", "times as long"
	if metric == "capacity" {
		better, worse, same, unit = "taking more calls", "taking fewer calls", "taking as many calls", "times as many a second"
	}
	said := func(words string, of func(outcome) bool, ratios bool) {
		var names, times []string
		for _, o := range all {
			if of(o) {
				names, times = append(names, clean(o.arm)), append(times, fromTo(o.low, o.high, ratio))
			}
		}
		if len(names) == 0 {
			return
		}
		clause := and(names) + " " + map[bool]string{true: "is ", false: "are "}[len(names) == 1] + words
		if ratios {
			clause += " (" + and(times) + " " + unit + ")"
		}
		clauses = append(clauses, clause)
	}
	only := func(decision string) func(outcome) bool {
		return func(o outcome) bool { return len(o.decisions) == 1 && o.decisions[decision] > 0 }
	}
	said(better, only("better"), true)
	said(worse, only("worse"), true)
	said(same, only("equivalent"), false)
	said("different from cell to cell", func(o outcome) bool { return len(o.decisions) > 1 }, false)
	said("undecided", only("undecided"), false)
	return clauses
}
