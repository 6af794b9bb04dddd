package report

import (
	"fmt"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// verdicts has a sentence for each decision, a table of the undecided verdicts, and the controls.
func verdicts(p *page, d result.Document) {
	if len(d.Verdicts) == 0 {
		return
	}
	p.heading("Verdicts")
	all := verdictsByCell(d)
	for _, in := range all {
		decided, open := []string{}, []result.Verdict{}
		for _, v := range in.All {
			switch {
			case v.Kind == "control" || v.Secondary:
			case v.Decision == "undecided":
				open = append(open, v)
			default:
				decided = append(decided, sentenceOf(v, ValuesOf(d, v)))
			}
		}
		if len(decided)+len(open) == 0 {
			continue
		}
		if name := cellName(in.Cell); name != "" && len(all) > 1 {
			p.sub(name)
		}
		for _, text := range decided {
			p.item(text)
		}
		undecided(p, d, open)
	}
	doubtNotes(p, d)
	controls(p, d)
	shown := slices.DeleteFunc(slices.Clone(d.Verdicts), func(v result.Verdict) bool { return brackets(v) == "" || v.Secondary })
	if len(shown) == 0 {
		return
	}
	v := shown[max(0, slices.IndexFunc(shown, func(v result.Verdict) bool { return v.Kind.AnswersQuestion() }))] // a control may have another level
	note := intervalNote(v.Level, d)
	if _, isLatency := percentile(v.Metric); isLatency {
		note += ofLatency
	}
	if d.Margin > 0 {
		note += fmt.Sprintf(" As fast means: to within %.3g %%.", 100*d.Margin)
	}
	p.note(note)
}

// intervalNote says how far the intervals can be relied on. level is that of one interval; 0: not known.
func intervalNote(level float64, d result.Document) string {
	of := "from pairs of trials of the same round."
	if inTurns(d) {
		of = "from pairs of blocks of the same cycles."
	}
	text := "In brackets: the confidence interval of the ratio, " + of
	if level <= 0 || level >= 1 {
		return text
	}
	text = fmt.Sprintf("In brackets: the %s confidence interval of the ratio, %s", confidence(level), of)
	if d.Headline == nil { // in an older document
		return text
	}
	type pair struct{ a, b, cell string }
	pairs, looks := map[pair]bool{}, ""
	for _, v := range d.Verdicts {
		if v.Kind.AnswersQuestion() && !v.Secondary {
			pairs[pair{v.A, v.B, v.Cell.Key()}] = true
		}
	}
	if len(d.Looks) > 1 {
		looks = fmt.Sprintf(", at all %d looks that the run could take", len(d.Looks))
	}
	if n := len(pairs); n > 1 {
		text += fmt.Sprintf(" It is wide enough that the decisions on all %d pairs of arms are correct with 95 %% confidence%s.", n, looks)
	}
	var names []string
	for _, metric := range headlines(d) {
		names = append(names, shortName(metric))
	}
	if len(names) > 1 {
		text += fmt.Sprintf(" rpclab tests %s in this order, each only if more rounds cannot change the verdict on the one before.", strings.Join(names, ", "))
	}
	return text
}

// ofLatency says what the ratios of latencies include.
const ofLatency = " Ratios are of the whole latency, the servers' own delay included."

func verdictsByCell(d result.Document) []result.InCell[result.Verdict] {
	return result.ByCell(d.Verdicts, func(v result.Verdict) result.Cell { return v.Cell })
}

// sentenceOf puts one decision into words; the ratio is the time of A over that of B. values are those of both arms, for
// a verdict whose ratio says nothing.
func sentenceOf(v result.Verdict, values string) string {
	a, b, where := clean(v.A), clean(v.B), metricName(v.Metric)
	ci := fmt.Sprintf("%s–%s", ratio(v.CI[0]), ratio(v.CI[1]))
	if v.Metric == "capacity" {
		return sentenceOfCapacity(v, a, b, ci)
	}
	if _, isLatency := percentile(v.Metric); !isLatency {
		words := comparativeOf(v.Metric)
		text := map[string]string{"better": words.better[0], "worse": words.worse[0], "equivalent": words.same[0]}[v.Decision]
		where := strings.TrimSuffix(words.where, ", ")
		text = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", a, text, b, strings.ToLower(where[:min(1, len(where))])+where[min(1, len(where)):]))
		if v.Metric == "failed" { // a share may be 0
			return text + " (" + chance(v.PRanks) + ")"
		}
		if !v.HasRatio() {
			return text + ": " + values
		}
		return fmt.Sprintf("%s: %s %s (%s)", text, boundedRatio(v.Ratio, v.Bound), words.unit, ci)
	}
	switch v.Decision {
	case "better":
		return fmt.Sprintf("%s is faster than %s %s: %s times as long (%s)", a, b, where, boundedRatio(v.Ratio, v.Bound), ci)
	case "worse":
		return fmt.Sprintf("%s is slower than %s %s: %s times as long (%s)", a, b, where, boundedRatio(v.Ratio, v.Bound), ci)
	}
	return fmt.Sprintf("%s is as fast as %s %s (ratio %s, %s)", a, b, where, ratio(v.Ratio), ci)
}

// undecided has a row for each pair, a column for each metric, and below them the reasons.
func undecided(p *page, d result.Document, open []result.Verdict) {
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
	slices.SortFunc(metrics, inOrder(d.Headline))
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
		cell := &t.rows[place[pair]][2+slices.Index(metrics, v.Metric)]
		switch {
		case v.HasRatio():
			*cell = strings.TrimSpace(ratioInTable(v.Ratio, v.Bound) + " " + brackets(v))
		case v.Metric == "followed":
			*cell = ValuesOf(d, v)
		}
	}
	p.grid(t)
	whyOpen(p, open)
}

// brackets is the interval, "" if there are too few rounds for one.
func brackets(v result.Verdict) string {
	if v.CI == [2]float64{} {
		return ""
	}
	return "(" + ratio(v.CI[0]) + "–" + ratio(v.CI[1]) + ")"
}

// sentenceOfCapacity puts a decision on capacity into words; the ratio is the rate of a over that of b.
func sentenceOfCapacity(v result.Verdict, a, b, ci string) string {
	switch v.Decision {
	case "better":
		return fmt.Sprintf("%s has a higher capacity than %s: %s times as many calls/s (%s)", a, b, ratio(v.Ratio), ci)
	case "worse":
		return fmt.Sprintf("%s has a lower capacity than %s: %s times as many calls/s (%s)", a, b, ratio(v.Ratio), ci)
	}
	return fmt.Sprintf("%s has the same capacity as %s (ratio %s, %s)", a, b, ratio(v.Ratio), ci)
}

// controls says whether rpclab found a difference between equal arms.
func controls(p *page, d result.Document) {
	for _, c := range controlTexts(d) {
		if c.bad {
			p.warn(c.text)
		} else {
			p.say(c.text)
		}
	}
}

// controlled is the result of one A/A control; bad: it differs.
type controlled struct {
	text string
	bad  bool
}

func controlTexts(d result.Document) (all []controlled) {
	type pair struct{ a, b string }
	var pairs []pair
	byPair := map[pair][]result.Verdict{}
	for _, v := range d.Verdicts {
		if v.Kind != "control" || v.Secondary {
			continue
		}
		key := pair{clean(v.A), clean(v.B)}
		if _, known := byPair[key]; !known {
			pairs = append(pairs, key)
		}
		byPair[key] = append(byPair[key], v)
	}
	for _, key := range pairs {
		text, bad := controlText(key.a, key.b, byPair[key])
		all = append(all, controlled{text, bad})
	}
	return all
}

// controlText is bad if the control differs from the arm that it repeats.
func controlText(a, b string, all []result.Verdict) (text string, bad bool) {
	var different, silent []string
	unseen := 0.0 // the largest difference that an interval leaves open, as a share
	judged, equivalent := 0, 0
	for _, v := range all {
		switch {
		case v.Decision == "better" || v.Decision == "worse":
			how := chance(v.PRanks)
			if v.HasRatio() {
				how = fmt.Sprintf("%s, %s–%s", ratio(v.Ratio), ratio(v.CI[0]), ratio(v.CI[1]))
			}
			different = append(different, fmt.Sprintf("%s%s (%s)", metricName(v.Metric), at(v.Cell), how))
		case v.Decision == "equivalent":
			judged, equivalent = judged+1, equivalent+1
		case ofTheInterval(v):
			judged++
			unseen = max(unseen, v.CI[1]-1, 1-v.CI[0])
		default:
			if why := at(v.Cell) + ": " + clean(v.Reason); !slices.Contains(silent, why) {
				silent = append(silent, why)
			}
		}
	}
	who := fmt.Sprintf("The A/A control %s repeats %s. ", a, b)
	nothing := "It shows nothing" + strings.Join(silent, "; nothing")
	switch {
	case len(different) > 0:
		return fmt.Sprintf("Careful: the A/A control %s repeats %s, yet a difference was found %s. "+
			"Treat differences of this size in this run as noise.", a, b, strings.Join(different, "; ")), true
	case judged == 0:
		return who + nothing + ".", false
	case equivalent == judged:
		text = "It is as fast, so rpclab found no difference where there is none."
	default:
		most := "up to " + atMost(unseen)
		if 1+unseen > maxDetectable {
			most = detectable(1 + unseen)
		}
		text = fmt.Sprintf("No difference found; a difference of %s cannot be excluded.", most)
	}
	if len(silent) > 0 {
		text += " " + nothing + "."
	}
	return who + text, false
}

// ofTheInterval says whether a verdict is undecided because of its interval, and not because the
// numbers cannot be used.
func ofTheInterval(v result.Verdict) bool {
	if v.Cause != nil {
		return v.Cause.Kind == result.CauseInterval
	}
	return v.CI != [2]float64{} && !v.Unfit && v.Rounds >= fewestRounds // in an older document
}

// doubtNotes are the warnings about decided verdicts.
func doubtNotes(p *page, d result.Document) {
	for _, v := range d.Verdicts {
		for _, note := range v.Notes {
			if !v.Secondary {
				p.item("Check: " + clean(v.A) + " against " + clean(v.B) + " " + metricName(v.Metric) + at(v.Cell) + ": " + clean(note) + ".")
			}
		}
	}
}
