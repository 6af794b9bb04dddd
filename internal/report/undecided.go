package report

import (
	"regexp"
	"slices"
	"strconv"
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
			t.columns = append(t.columns, column{"ratio " + metricName(v.Metric), true})
		}
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

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// reasons says each reason once: those that differ in their numbers alone become
// one, with the range of each number.
func reasons(open []result.Verdict) []string {
	var forms []string
	ranges := map[string][][2]float64{}
	for _, v := range open {
		reason := clean(v.Reason)
		if reason == "" {
			reason = "the interval leaves both answers open"
		}
		form := digits.ReplaceAllString(reason, "\x00")
		_, known := ranges[form]
		if !known {
			forms = append(forms, form)
			ranges[form] = [][2]float64{}
		}
		for i, text := range digits.FindAllString(reason, -1) {
			n, _ := strconv.ParseFloat(text, 64) // digits fail only by size, and are infinite then
			if !known {
				ranges[form] = append(ranges[form], [2]float64{n, n})
				continue
			}
			ranges[form][i] = [2]float64{min(ranges[form][i][0], n), max(ranges[form][i][1], n)}
		}
	}
	for i, form := range forms {
		for _, r := range ranges[form] {
			text := strconv.FormatFloat(r[0], 'f', -1, 64)
			if r[1] > r[0] {
				text += "–" + strconv.FormatFloat(r[1], 'f', -1, 64)
			}
			form = strings.Replace(form, "\x00", text, 1)
		}
		forms[i] = form
	}
	return forms
}
