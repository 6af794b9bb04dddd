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
	{"latency_mean", "mean", "faster in the mean", "slower in the mean"},
	{"latency_p90", "p90", "faster at p90", "slower at p90"},
	{"latency_p999", "p99.9", "faster at p99.9", "slower at p99.9"},
	{"rate", "calls/s", "more calls/s", "fewer calls/s"},
	{"capacity", "capacity", "more capacity", "less capacity"},
	{"errors", "errors", "fewer errors", "more errors"},
	{"client_cpu", "client CPU", "leaner in the client's CPU", "heavier on the client's CPU"},
	{"server_cpu", "server CPU", "leaner in the servers' CPU", "heavier on the servers' CPU"},
	{"client_memory", "client MB", "leaner in the client's memory", "heavier on the client's memory"},
	{"server_memory", "server MB", "leaner in a server's memory", "heavier on a server's memory"},
	{"proxy_cpu", "proxy CPU", "leaner in the proxy's CPU", "heavier on the proxy's CPU"},
	{"proxy_memory", "proxy MB", "leaner in the proxy's memory", "heavier on the proxy's memory"},
	{"gateway_cpu", "gateway CPU", "leaner in the gateway's CPU", "heavier on the gateway's CPU"},
	{"gateway_memory", "gateway MB", "leaner in the gateway's memory", "heavier on the gateway's memory"},
	{"balance", "Jain", "more even", "less even"},
	{"convergence", "even again", "even again sooner", "even again later"},
}

// besides is what else was compared with the baseline, if anything of it was decided.
func besides(p *page, d result.Document) {
	decided := func(v result.Verdict) bool {
		return v.Secondary && v.Kind == "baseline" && v.Decision != "undecided"
	}
	if !slices.ContainsFunc(d.Verdicts, decided) {
		return
	}
	t, _ := besideTable("over "+clean(d.Baseline), d.Verdicts)
	if searched(d) {
		p.heading("Beside capacity")
	} else {
		p.heading("Beside latency")
	}
	p.grid(t)
	besideWords(p, t)
	p.note(besideNote("The ratio to "+clean(d.Baseline), t))
}

// besideWords says of each row what is better or worse in every cell.
func besideWords(p *page, t table) {
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

// besideTable has a row for each arm, a column for each metric, and in it the range of
// the ratios over the cells with what they say.
func besideTable(first string, verdicts []result.Verdict) (t table, any bool) {
	byPair := map[string]map[string][]result.Verdict{} // by arm and metric
	var arms []string
	for _, v := range verdicts {
		if !v.Secondary || v.Kind != "baseline" {
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
			t.rows[i] = append(t.rows[i], overCells(byPair[arm][s.metric]))
		}
	}
	return t, len(arms) > 0
}

func besideNote(of string, t table) string {
	note := of + ", from the least to the most of all cells: + better and − worse in each of them, " +
		"= within the margin in each, ? undecided in one or more, ± different from cell to cell. For each column, the chance that any " +
		"of its calls is wrong is 5 % at most."
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "errors" }) {
		note += " errors: of the shares of calls that failed or were dropped, half a call added."
	}
	return note
}

// The marks of what is better, or worse, in every cell.
const better, worse = " +", " −"

// overCells is what the verdicts on one metric say together.
func overCells(all []result.Verdict) string {
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

// doubts are what the guards noted of decisions that stand all the same.
func doubts(p *page, d result.Document) {
	var all ranges
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
