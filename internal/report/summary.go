package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// How many arms the tables of a summary list: with them and the reservations it has 12 lines.
const (
	verdictRows  = 7
	recoveryRows = 6
)

// summary is the short report: the question, the answer, and at most 12 lines that support it.
func summary(d result.Document) page {
	var p page
	opening(&p, d)
	summaryTable(&p, d, verdictRows, recoveryRows)
	reservations(&p, d)
	return p
}

// summaryTable has a row for each arm, or for so many.
func summaryTable(p *page, d result.Document, verdictRows, recoveryRows int) {
	switch {
	case asksAboutEvents(d):
		recoveryTable(p, d, recoveryRows)
	case measured(d) || searched(d):
		verdictTable(p, d, verdictRows)
	}
}

// opening is the question and its answer, the first lines of every report.
func opening(p *page, d result.Document) {
	p.title(strings.Trim(clean(d.Experiment)+": "+clean(d.Question), ": "))
	p.say(Answer(d))
}

// verdictTable has a row for each arm: its latency or capacity, and its headline verdict with the
// range of the difference. If there are too many arms, those without a verdict are left out.
func verdictTable(p *page, d result.Document, most int) {
	metric := tableMetric(d)
	shown := d.Headline
	if len(shown) == 0 {
		shown = []string{"latency_p50", "latency_p99"}
	}
	switch {
	case metric == "capacity":
		shown = []string{metric}
	case len(cells(d)) > 1: // ranges over cells leave room for one, and balance is short
		metric = cmp.Or(metric, shown[0])
		shown = slices.DeleteFunc(slices.Clone(shown), func(name string) bool { return name != metric && name != "balance" })
	}
	shown = shown[:min(2, len(shown))]
	t := table{columns: []column{{"arm", false}}}
	for _, figure := range shown {
		t.columns = append(t.columns, column{comparativeOf(figure).column, true})
	}
	t.columns = append(t.columns, column{strings.TrimSpace(shortName(metric) + " difference"), false})
	var rows [][]string
	var decided []bool
	arms, verdicts, limited := armsByName(d), map[string][]result.Verdict{}, map[string]bool{}
	for _, v := range d.Verdicts {
		verdicts[v.A] = append(verdicts[v.A], v)
	}
	for _, name := range limitedArms(d) {
		limited[name] = true
	}
	for _, arm := range armNames(d) {
		row := []string{clean(arm)}
		if limited[clean(arm)] && bottleneckEffect(d) != "" { // a line below explains the mark
			row[0] += "†"
		}
		for _, figure := range shown {
			row = append(row, overCells(arms[arm], figure, comparativeOf(figure).show))
		}
		text, sure := differenceInWords(d, arm, metric, verdicts[arm])
		rows, decided = append(rows, append(row, text)), append(decided, sure)
		for _, call := range callRows(arms[arm], shown) {
			rows, decided = append(rows, append(call, "")), append(decided, false)
		}
	}
	if !slices.ContainsFunc(rows, func(row []string) bool { return !slices.Contains([]string{"", "baseline", noVerdict}, row[len(row)-1]) }) {
		for _, row := range rows {
			row[len(row)-1] = ""
		}
	}
	t.rows = firstOf(rows, decided, most)
	p.grid(t)
	var notes []string
	if all := cells(d); len(all) > 1 {
		notes = append(notes, "Ranges cover "+strings.TrimPrefix(at(all...), " at ")+".")
	}
	if hidden := len(rows) - len(t.rows); hidden > 0 {
		notes = append(notes, plural(hidden, "more arm")+" not shown.")
	}
	if len(notes) > 0 {
		p.note(strings.Join(notes, " "))
	}
}

// tableMetric is the metric of the differences in the table: that of the answer, but figures of balance say all, so it is
// the next one there.
func tableMetric(d result.Document) string {
	metric := answeredMetric(d)
	if metric != "balance" {
		return metric
	}
	after := d.Headline[slices.Index(d.Headline, metric)+1:]
	return append(slices.Clone(after), metric)[0]
}

// callRows has a row for each call of an arm that makes several, with its latency over all cells.
func callRows(arms []result.Arm, shown []string) (rows [][]string) {
	byName := map[string][]result.Arm{}
	var names distinct
	for _, arm := range arms {
		for _, call := range callsOf(arm) {
			names.add(call.Name)
			byName[call.Name] = append(byName[call.Name], call)
		}
	}
	for _, name := range names.list {
		row := []string{clean(name)}
		for _, figure := range shown {
			text := ""
			if isLatency(figure) {
				text = overCells(byName[name], figure, comparativeOf(figure).show)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// firstOf are at most so many rows, in their order: the decided ones first, then the first others.
func firstOf(rows [][]string, decided []bool, most int) (kept [][]string) {
	room := most
	for _, is := range decided {
		if is {
			room--
		}
	}
	for i, row := range rows {
		if len(kept) == most {
			break
		}
		if !decided[i] {
			if room <= 0 {
				continue
			}
			room--
		}
		kept = append(kept, row)
	}
	return kept
}

// differenceInWords is what the verdicts on one arm say, over all cells; sure: a cell has a
// decision, or the arm is the baseline.
func differenceInWords(d result.Document, arm, metric string, verdicts []result.Verdict) (text string, sure bool) {
	if arm == d.Baseline {
		return "baseline", true
	}
	i := slices.IndexFunc(verdicts, func(v result.Verdict) bool { return v.Metric == metric && v.Kind != result.OfConfound })
	if i < 0 {
		return "", false
	}
	of, kind := verdicts[i].B, verdicts[i].Kind
	decisions := map[string]int{}
	interval := [2]float64{math.Inf(1), 0} // over the cells
	for _, v := range verdicts {
		if v.B != of || v.Metric != metric || v.Kind != kind {
			continue
		}
		if v.Cause != nil && v.Cause.Kind == result.CauseNotTested {
			return clean(v.Reason), false
		}
		if v.Unfit || v.Rounds < fewestRounds {
			decisions["unfit"]++
			continue
		}
		decisions[v.Decision]++
		if v.CI != [2]float64{} {
			interval = [2]float64{min(interval[0], v.CI[0]), max(interval[1], v.CI[1])}
		}
	}
	from := ""
	if interval[1] > 0 {
		from = ": " + percentRange(interval)
	}
	than, against := "", ""
	if of != d.Baseline && kind != result.OfControl {
		than, against = " than "+clean(of), " to "+clean(of)
	}
	words := comparativeOf(metric)
	if metric == "failed" { // shares may be 0, so their ratio says little
		from = ""
	}
	switch {
	case kind == result.OfControl && decisions["better"]+decisions["worse"] > 0:
		return "A/A control, yet a difference" + from, true
	case kind == result.OfControl:
		return "A/A control" + from, true
	case len(decisions) == 1 && decisions["unfit"] > 0 || interval[1] == 0:
		return noVerdict, false
	}
	orUndecided := ""
	if decisions["undecided"]+decisions["unfit"] > 0 {
		orUndecided = " or undecided"
	}
	orNoVerdict := map[bool]string{true: " or no verdict"}[decisions["unfit"] > 0]
	delete(decisions, "undecided")
	delete(decisions, "unfit")
	switch {
	case len(decisions) == 0:
		return "undecided" + orNoVerdict + against + from, false
	case len(decisions) > 1:
		return "differs by cell" + from, true
	case decisions["equivalent"] > 0:
		return "the same" + orUndecided + against + from, true
	}
	for decision := range decisions {
		return words.words(decision) + than + orUndecided + from, true
	}
	return noVerdict, false
}

// reservations are what a reader must know before using the numbers, a line or two each.
func reservations(p *page, d result.Document) {
	if lost := lossesInWords(d); lost != "" && !asksAboutEvents(d) {
		p.alarm(lost)
	}
	if text := bottleneck(d); text != "" && (!asksAboutEvents(d) || d.Headline == nil || slices.ContainsFunc(d.Headline, isLatency)) {
		mark := "† "
		if asksAboutEvents(d) { // the table has no latency to mark
			mark = ""
		}
		if effect := bottleneckEffect(d); effect != "" {
			p.alarm(mark + capital(text) + ": " + effect + ".")
		}
	}
	for _, c := range controlTexts(d) {
		if c.bad {
			p.alarm(c.text)
		}
	}
	if n := len(d.Warnings); n > 0 {
		text := "Warning: " + clean(d.Warnings[0])
		if n > 1 {
			text = fmt.Sprintf("%d warnings, the first: %s", n, clean(d.Warnings[0]))
		}
		p.alarm(shortened(text, 76))
	}
	if text := unfitInWords(d); text != "" && room(*p) {
		p.item(text)
	}
	if turnsWouldHelp(d) && !d.Partial && room(*p) {
		p.item(turnsInWords)
	}
	if len(d.Longer) > 0 && !d.Partial && room(*p) {
		p.item(longerInWords(d, d.Longer[0]))
	}
	for _, cost := range d.FaultProxies {
		p.item(faultProxyInWords(cost))
	}
	if d.Groups != nil {
		p.item(groupsInWords(*d.Groups))
	}
	made := strings.Join(filled(progress(d), lasted(d)), ", ")
	switch {
	case d.Partial:
		made = "Partial: " + made
	case d.Quick:
		made = "Scaled down by --quick: " + made
	}
	p.item(made + ".")
}

// unfitInWords says why arms have no verdict in the table: the first reason that no other line has.
func unfitInWords(d result.Document) string {
	if asksAboutEvents(d) || d.Partial {
		return ""
	}
	metric := tableMetric(d)
	for _, v := range d.Verdicts {
		if v.Metric == metric && v.Unfit && v.Cause != nil && v.Cause.Kind != result.CauseGenerator && v.Kind.AnswersQuestion() {
			return capital(noVerdict) + " " + inMetric(metric) + ": " + clean(v.Reason) + "."
		}
	}
	return ""
}

// groupsInWords says why arms were not all up at the same time, and which were.
func groupsInWords(g result.Groups) string {
	why := fmt.Sprintf("All arms need about %.0f MB (%.0f MB were free)", float64(g.Memory)/1e6, float64(g.FreeMemory)/1e6)
	if g.LimitedBy == result.LimitedByFiles {
		why = fmt.Sprintf("All arms need %s open files (limit %s)", number(float64(g.Files)), number(float64(g.MaxFiles)))
	}
	var groups []string
	for _, arms := range g.Arms {
		groups = append(groups, clean(strings.Join(arms[1:], ", ")))
	}
	return fmt.Sprintf("%s: %d groups with %s: %s.", why, len(g.Arms), clean(g.Arms[0][0]), strings.Join(groups, "; "))
}

// room says whether a summary has a line left for advice, before its last line: it has at most one reservation of one
// line, and ten lines below the answer.
func room(p page) bool {
	used, reserved := 0, 0
	for _, b := range p.blocks {
		n := len(lines(b, maxWidth))
		if b.kind == item {
			reserved += n
		}
		if b.kind == item || b.kind == grid || b.tone == quiet {
			used += n
		}
	}
	return reserved <= 1 && used <= 10
}

// shortened is the beginning of a text that is too long for a line: whole clauses if they fill half of
// the line.
func shortened(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	begins := string(runes[:width-1])
	if clause := strings.LastIndexAny(begins, ",;"); clause > width/2 {
		begins = begins[:clause]
	}
	return strings.TrimSpace(begins) + "…"
}

// lossesInWords says which arms lost calls: failed or dropped ones.
func lossesInWords(d result.Document) string {
	var names []string
	of := lossesByArm(d)
	for _, name := range armNames(d) {
		if l := of[name]; l.lost > 0 {
			names = append(names, fmt.Sprintf("%s %s of %s", clean(name), count(l.lost), count(l.due)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Failed or dropped calls: " + listed(names, 4) + "."
}
