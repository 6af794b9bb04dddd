package report

import (
	"slices"
	"strings"

	"rpclab/internal/result"
)

// undecided shows what could not be said: a row for each pair, a column for each
// metric, and below it the reasons.
func undecided(p *page, open []result.Verdict) {
	if len(open) == 0 {
		return
	}
	var metrics []string
	t := table{columns: []column{{"undecided", false}, {"against", false}}}
	for _, v := range open {
		if !slices.Contains(metrics, v.Metric) {
			metrics = append(metrics, v.Metric)
		}
	}
	slices.Sort(metrics) // lower percentiles first
	for _, metric := range metrics {
		t.columns = append(t.columns, column{"ratio " + metricName(metric), true})
	}
	place := map[[2]string]int{}
	for _, v := range open {
		pair := [2]string{clean(v.A), clean(v.B)}
		if _, known := place[pair]; !known {
			place[pair] = len(t.rows)
			t.rows = append(t.rows, append(pair[:], make([]string, len(metrics))...))
		}
		if v.Ratio > 0 {
			t.rows[place[pair]][2+slices.Index(metrics, v.Metric)] =
				strings.TrimSpace(ratio(v.Ratio) + " " + brackets(v))
		}
	}
	p.grid(t)
	for _, reason := range reasons(open) {
		p.item("undecided: " + reason)
	}
}

// brackets is the interval, "" where the rounds were too few for one.
func brackets(v result.Verdict) string {
	if v.CI == [2]float64{} {
		return ""
	}
	return "(" + ratio(v.CI[0]) + "–" + ratio(v.CI[1]) + ")"
}

// reasons says each reason once, and of all the arms that it holds for. Only those about
// intervals differ in their numbers alone; in others a number may be part of an arm's name.
func reasons(open []result.Verdict) []string {
	var all ranges
	arms := map[int][]string{} // by their place in all
	for _, v := range open {
		switch reason := clean(v.Reason); {
		case reason == "":
			all.exactly("the interval leaves both answers open")
		case strings.HasPrefix(reason, aboutInterval):
			all.loosely(reason)
		default:
			text, arm := ofAnArm(reason, clean(v.A), clean(v.B))
			if at := all.exactly(text); arm != "" && !slices.Contains(arms[at], arm) {
				arms[at] = append(arms[at], arm)
			}
		}
	}
	texts := all.texts()
	for i := range texts {
		texts[i] = strings.Replace(texts[i], anArm, " of "+and(arms[i])+" ", 1)
	}
	return texts
}

// anArm stands for " of NAME " in a reason.
const anArm = "\x01"

// ofAnArm takes out of a reason which of the arms it is of; "": it does not say so.
func ofAnArm(reason string, names ...string) (text, arm string) {
	for _, name := range names {
		if before, after, is := strings.Cut(reason, " of "+name+" "); is {
			return before + anArm + after, name
		}
	}
	return reason, ""
}
