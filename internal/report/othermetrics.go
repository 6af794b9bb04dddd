package report

import (
	"slices"

	"rpclab/internal/result"
)

// otherMetrics compares the other metrics with the baseline, if any verdict on them is decided.
func otherMetrics(p *page, d result.Document) {
	decided := func(v result.Verdict) bool {
		return v.Secondary && v.Kind == result.OfBaseline && v.Decision != "undecided"
	}
	if !slices.ContainsFunc(d.Verdicts, decided) {
		return
	}
	t, words := otherMetricsTable("over "+clean(d.Baseline), d.Verdicts)
	p.heading("Other metrics")
	p.grid(t)
	for i, row := range t.rows {
		if len(words[i]) > 0 {
			p.item(row[0] + ": " + and(words[i]))
		}
	}
	p.note(otherMetricsNote("The ratio to "+clean(d.Baseline), t))
}

// otherMetricsTable has a row for each arm and a column for each metric, with the range of the ratios
// over the cells and their decision. words are, for each row, what is better or worse in every cell.
func otherMetricsTable(first string, verdicts []result.Verdict) (t table, words [][]string) {
	byPair := map[string]map[string][]result.Verdict{} // by arm and metric
	var arms []string
	for _, v := range verdicts {
		if !v.Secondary || v.Kind != result.OfBaseline {
			continue
		}
		if byPair[v.A] == nil {
			byPair[v.A] = map[string][]result.Verdict{}
			arms = append(arms, v.A)
		}
		byPair[v.A][v.Metric] = append(byPair[v.A][v.Metric], v)
	}
	t.columns, words = []column{{first, false}}, make([][]string, len(arms))
	for _, arm := range arms {
		t.rows = append(t.rows, []string{clean(arm)})
	}
	for _, s := range secondaries {
		if !slices.ContainsFunc(arms, func(arm string) bool { return len(byPair[arm][s.metric]) > 0 }) {
			continue
		}
		t.columns = append(t.columns, column{s.column, true})
		for i, arm := range arms {
			text, decision := ratioOverCells(byPair[arm][s.metric])
			t.rows[i] = append(t.rows[i], text)
			switch decision {
			case "better":
				words[i] = append(words[i], s.better)
			case "worse":
				words[i] = append(words[i], s.worse)
			}
		}
	}
	return t, words
}

func otherMetricsNote(of string, t table) string {
	note := of + ", from the lowest to the highest cell: + better or − worse in every cell, = within the margin in every cell, " +
		"? undecided in at least one, ± different from cell to cell. All verdicts of a column are correct with 95 % confidence."
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "errors" }) {
		note += " errors: the ratio of the shares of failed and dropped calls, half a call added."
	}
	return note
}

// ratioOverCells is the range of the ratios with a mark, and the decision of all verdicts; "": they
// differ.
func ratioOverCells(all []result.Verdict) (text, decision string) {
	if len(all) == 0 {
		return "", ""
	}
	var low, high float64
	said, bounds := map[string]bool{}, map[result.RatioBound]bool{}
	for _, v := range all {
		said[v.Decision] = true
		if v.Ratio == 0 || v.OfLostCalls() { // no ratio
			continue
		}
		if low == 0 {
			low = v.Ratio
		}
		low, high = min(low, v.Ratio), max(high, v.Ratio)
		bounds[v.Bound] = true
	}
	text = fromTo(low, high, func(v float64) string { // where a cell has only a bound, its ratio may be beyond that end
		switch {
		case v == high && bounds[result.LowerBound]:
			return ratioInTable(v, result.LowerBound)
		case v == low && bounds[result.UpperBound]:
			return ratioInTable(v, result.UpperBound)
		}
		return ratio(v)
	})
	switch {
	case high == 0:
		return none, ""
	case said["undecided"]:
		return text + " ?", ""
	case len(said) > 1:
		return text + " ±", ""
	}
	decision = all[0].Decision
	return text + map[string]string{"better": " +", "worse": " −", "equivalent": " ="}[decision], decision
}
