package main

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// shortAnswer is the answer of the list, with the ratios of the document, or the first clause of the report's.
func (f finding) shortAnswer(d result.Document) (string, error) {
	if f.Answer == "" {
		return clause(report.Answer(d)), nil
	}
	of := slices.IndexFunc(d.Headline, func(metric string) bool { return metric != "balance" }) // -1: none
	ratios := func(arm string, cells []string) (all []float64, err error) {                     // of some cells; nil: of all
		for _, v := range d.Verdicts {
			if v.A == arm && of >= 0 && v.Metric == d.Headline[of] && v.Kind.AnswersQuestion() &&
				(len(cells) == 0 || slices.Contains(cells, report.CellName(v.Cell))) {
				all = append(all, v.Ratio)
			}
		}
		if len(all) == 0 {
			err = fmt.Errorf("the document has no verdict on %s", strings.Join(append([]string{arm}, cells...), " at "))
		}
		return all, err
	}
	ratio := func(arm string, cells ...string) (string, error) {
		all, err := ratios(arm, cells)
		if err != nil {
			return "", err
		}
		return span("%.3g", all), nil
	}
	less := func(arm string, cells ...string) (string, error) { // of the metric, in percent
		all, err := ratios(arm, cells)
		if err != nil {
			return "", err
		}
		for i, r := range all {
			all[i] = 100 * (1 - r)
		}
		return span("%.2g", all) + " %", nil
	}
	lost := func(arm string) (string, error) { // or its range over the cells
		var shares []float64
		for _, a := range d.Arms {
			if a.Name == arm {
				shares = append(shares, 100*a.Lost())
			}
		}
		switch {
		case len(shares) == 0:
			return "", fmt.Errorf("the document has no arm %s", arm)
		case slices.Max(shares) == 0:
			return "none", nil
		}
		return span("%.2g", shares) + " %", nil
	}
	p50 := func(arm string) (string, error) { // or its range over the cells, in milliseconds
		var all []float64
		for _, a := range d.Arms {
			if a.Name == arm && !a.Latency.Empty() {
				all = append(all, a.Latency.P50)
			}
		}
		if len(all) == 0 {
			return "", fmt.Errorf("the document has no latency of %s", arm)
		}
		return span("%.2g", all), nil
	}
	remains := func(published string) (string, error) { // of the gap of an arm
		for _, a := range d.Accounts {
			if a.Published == published && a.Reason == "" {
				return report.Remains(a), nil
			}
		}
		return "", fmt.Errorf("the document does not know what remains of the gap of %s", published)
	}
	functions := template.FuncMap{"ratio": ratio, "less": less, "lost": lost, "p50": p50, "remains": remains}
	text, err := template.New("answer").Funcs(functions).Parse(f.Answer)
	if err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	var answer strings.Builder
	if err := text.Execute(&answer, nil); err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	return answer.String(), nil
}

// span formats the range of values, or their value.
func span(format string, values []float64) string {
	low, high := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
	if low == high {
		return low
	}
	return low + "–" + high
}

// clause is the first clause of an answer, which has its result.
func clause(answer string) string {
	for _, stop := range []string{"; ", ". "} {
		answer, _, _ = strings.Cut(answer, stop)
	}
	return strings.TrimSuffix(answer, ".")
}
