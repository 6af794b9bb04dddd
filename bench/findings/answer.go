package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// shortAnswer is the answer of the list, or the first clause of the report's.
func (f finding) shortAnswer(d result.Document) (string, error) {
	if f.Answer == "" {
		return clause(report.Answer(d)), nil
	}
	return f.fill(f.Answer, d)
}

// opening is the text that begins a page, in Markdown.
func (f finding) opening(d result.Document) (string, error) {
	if f.Opening != "" {
		return f.fill(f.Opening, d)
	}
	answer, err := f.shortAnswer(d)
	return "**" + report.Escape(answer) + ".**", err
}

// fill replaces the templates of a text by the figures of the document.
func (f finding) fill(text string, d result.Document) (string, error) {
	of := figuresOf{d}
	parsed, err := template.New("answer").Funcs(template.FuncMap{"ratio": of.ratio, "less": of.less, "lost": of.lost, "p50": of.p50,
		"remains": of.remains, "shown": of.shown}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	var filled strings.Builder
	if err := parsed.Execute(&filled, nil); err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	return filled.String(), nil
}

// figuresOf are the figures of a document. Arms are one or several names, separated by commas: a figure is their range.
type figuresOf struct{ d result.Document }

// isOneOf reports whether arms name an arm.
func isOneOf(arms, name string) bool { return slices.Contains(strings.Split(arms, ","), name) }

// ratios are those of the first headline metric besides balance, in some cells; none: in all.
func (of figuresOf) ratios(arms string, cells []string) (all []float64, err error) {
	metric := slices.IndexFunc(of.d.Headline, func(metric string) bool { return metric != "balance" }) // -1: none
	for _, v := range of.d.Verdicts {
		if isOneOf(arms, v.A) && metric >= 0 && v.Metric == of.d.Headline[metric] && v.Kind.AnswersQuestion() &&
			(len(cells) == 0 || slices.Contains(cells, report.CellName(v.Cell))) {
			all = append(all, v.Ratio)
		}
	}
	if len(all) == 0 {
		err = fmt.Errorf("the document has no verdict on %s", strings.Join(append([]string{arms}, cells...), " at "))
	}
	return all, err
}

func (of figuresOf) ratio(arms string, cells ...string) (string, error) {
	all, err := of.ratios(arms, cells)
	if err != nil {
		return "", err
	}
	return span("%.3g", all), nil
}

// less is the difference of a ratio to 1, in percent.
func (of figuresOf) less(arms string, cells ...string) (string, error) {
	all, err := of.ratios(arms, cells)
	if err != nil {
		return "", err
	}
	for i, r := range all {
		all[i] = 100 * (1 - r)
	}
	return span("%.2g", all) + " %", nil
}

// lost is the share of calls that failed or were dropped.
func (of figuresOf) lost(arms string) (string, error) {
	var shares []float64
	for _, a := range of.d.Arms {
		if isOneOf(arms, a.Name) {
			shares = append(shares, 100*a.Lost())
		}
	}
	switch {
	case len(shares) == 0:
		return "", fmt.Errorf("the document has no arm %s", arms)
	case slices.Max(shares) == 0:
		return "none", nil
	}
	return span("%.2g", shares) + " %", nil
}

// p50 is the median latency in milliseconds.
func (of figuresOf) p50(arms string) (string, error) {
	var all []float64
	for _, a := range of.d.Arms {
		if isOneOf(arms, a.Name) && !a.Latency.Empty() {
			all = append(all, a.Latency.P50)
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("the document has no latency of %s", arms)
	}
	return span("%.2g", all), nil
}

// remains is what remains of the published gap of an arm.
func (of figuresOf) remains(published string) (string, error) {
	for _, a := range of.d.Accounts {
		if a.Published == published && a.Reason == "" {
			return report.Remains(a), nil
		}
	}
	return "", fmt.Errorf("the document does not know what remains of the gap of %s", published)
}

// shown is what the tables below a heading have in a column of some arms. The table of the page has the heading "".
func (of figuresOf) shown(heading, arms, column string) (string, error) {
	said := report.SectionsOf(of.d)
	above, texts := "", []string{}
	for _, e := range slices.Concat(said.Summary, said.Cost, said.Events) {
		if e.Table == nil {
			if strings.HasSuffix(e.Kind, "heading") {
				above = e.Text
			}
			continue
		}
		at := slices.IndexFunc(e.Table.Columns, func(c report.Column) bool { return c.Name == column })
		if at < 0 || heading == "" && above != "" || !strings.HasPrefix(above, heading) {
			continue
		}
		for _, row := range e.Table.Rows {
			if isOneOf(arms, strings.TrimSuffix(row[0], "†")) && row[at] != "" {
				texts = append(texts, row[at])
			}
		}
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("the document shows no %s of %s below %q", column, arms, heading)
	}
	return spanOfTexts(texts)
}

// spanOfTexts is the range of figures of a table, which may have a unit.
func spanOfTexts(texts []string) (string, error) {
	if texts = slices.Compact(texts); len(texts) == 1 {
		return texts[0], nil
	}
	value := func(text string) (float64, error) {
		number, _, _ := strings.Cut(text, " ")
		return strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	}
	low, high, least, most := texts[0], texts[0], 0.0, 0.0
	for i, text := range texts {
		v, err := value(text)
		if err != nil {
			return "", fmt.Errorf("%q is no figure: %w", text, err)
		}
		if i == 0 || v < least {
			low, least = text, v
		}
		if i == 0 || v > most {
			high, most = text, v
		}
	}
	low, unit, _ := strings.Cut(low, " ")
	if _, other, _ := strings.Cut(high, " "); other != unit {
		return "", fmt.Errorf("%s %s and %s have different units", low, unit, high)
	}
	return low + "–" + high, nil
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
