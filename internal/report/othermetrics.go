package report

import (
	"slices"
	"strings"

	"rpclab/internal/result"
)

type secondary struct{ metric, column, better, worse string }

// secondaries are the metrics beside the headline, in the order of their columns, with
// the words for better and worse.
var secondaries = []secondary{
	{"latency_mean", "mean", "lower mean latency", "higher mean latency"},
	{"latency_p90", "p90", "faster at p90", "slower at p90"},
	{"latency_p999", "p99.9", "faster at p99.9", "slower at p99.9"},
	{"rate", "calls/s", "more calls/s", "fewer calls/s"},
	{"capacity", "capacity", "more capacity", "less capacity"},
	{"errors", "errors", "fewer errors", "more errors"},
	{"client_cpu", "client CPU", "uses less client CPU", "uses more client CPU"},
	{"server_cpu", "server CPU", "uses less server CPU", "uses more server CPU"},
	{"client_memory", "client MB", "uses less client memory", "uses more client memory"},
	{"server_memory", "server MB", "uses less memory in a server", "uses more memory in a server"},
	{"proxy_cpu", "proxy CPU", "uses less proxy CPU", "uses more proxy CPU"},
	{"proxy_memory", "proxy MB", "uses less proxy memory", "uses more proxy memory"},
	{"gateway_cpu", "gateway CPU", "uses less gateway CPU", "uses more gateway CPU"},
	{"gateway_memory", "gateway MB", "uses less gateway memory", "uses more gateway memory"},
	{"balance", "Jain", "balances calls more evenly", "balances calls less evenly"},
	{"convergence", "balanced again", "balanced again sooner", "balanced again later"},
}

// otherMetrics is what else was compared with the baseline, if anything of it was decided.
func otherMetrics(p *page, d result.Document) {
	decided := func(v result.Verdict) bool {
		return v.Secondary && v.Kind == result.OfBaseline && v.Decision != "undecided"
	}
	if !slices.ContainsFunc(d.Verdicts, decided) {
		return
	}
	t, _ := otherMetricsTable("over "+clean(d.Baseline), d.Verdicts)
	p.heading("Other metrics")
	p.grid(t)
	otherMetricsInWords(p, t)
	p.note(otherMetricsNote("The ratio to "+clean(d.Baseline), t))
}

// otherMetricsInWords says of each row what is better or worse in every cell.
func otherMetricsInWords(p *page, t table) {
	for _, row := range t.rows {
		var words []string
		for c, text := range row[1:] {
			s := secondaries[slices.IndexFunc(secondaries, func(s secondary) bool { return s.column == t.columns[c+1].name })]
			switch {
			case strings.HasSuffix(text, better):
				words = append(words, s.better)
			case strings.HasSuffix(text, worse):
				words = append(words, s.worse)
			}
		}
		if len(words) > 0 {
			p.item(row[0] + ": " + and(words))
		}
	}
}

// otherMetricsTable has a row for each arm, a column for each metric, and in it the range of
// the ratios over the cells with what they say.
func otherMetricsTable(first string, verdicts []result.Verdict) (t table, any bool) {
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
	t.columns = []column{{first, false}}
	for _, arm := range arms {
		t.rows = append(t.rows, []string{clean(arm)})
	}
	for _, s := range secondaries {
		if !slices.ContainsFunc(arms, func(arm string) bool { return len(byPair[arm][s.metric]) > 0 }) {
			continue
		}
		t.columns = append(t.columns, column{s.column, true})
		for i, arm := range arms {
			t.rows[i] = append(t.rows[i], ratioOverCells(byPair[arm][s.metric]))
		}
	}
	return t, len(arms) > 0
}

func otherMetricsNote(of string, t table) string {
	note := of + ", from the lowest to the highest cell: + better or − worse in every cell, = within the margin in every cell, " +
		"? undecided in at least one, ± different from cell to cell. All verdicts of a column are correct with 95 % confidence."
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "errors" }) {
		note += " errors: the ratio of the shares of failed and dropped calls, half a call added."
	}
	return note
}

// The marks of what is better, or worse, in every cell.
const better, worse = " +", " −"

// ratioOverCells is what the verdicts on one metric say together.
func ratioOverCells(all []result.Verdict) string {
	if len(all) == 0 {
		return ""
	}
	var low, high float64
	said := map[string]bool{}
	for _, v := range all {
		said[v.Decision] = true
		if v.Ratio == 0 { // there is none
			continue
		}
		if low == 0 {
			low = v.Ratio
		}
		low, high = min(low, v.Ratio), max(high, v.Ratio)
	}
	if high == 0 {
		return none
	}
	text := ratio(low)
	if top := ratio(high); top != text {
		text += "–" + top
	}
	switch {
	case said["undecided"]:
		return text + " ?"
	case len(said) > 1:
		return text + " ±"
	}
	return text + map[string]string{"better": better, "worse": worse, "equivalent": " ="}[all[0].Decision]
}

// doubtNotes are what the guards noted of decisions that stand all the same.
func doubtNotes(p *page, d result.Document) {
	var all mergedTexts
	for _, v := range d.Verdicts {
		for _, note := range v.Notes {
			if !v.Secondary {
				all.exactly("Look: " + clean(v.A) + " against " + clean(v.B) + " " + metricName(v.Metric) + at(v.Cell) + ": " + clean(note) + ".")
			}
		}
	}
	for _, text := range all.texts() {
		p.item(text)
	}
}
