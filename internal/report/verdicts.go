package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// verdicts says each decision in a sentence, the undecided ones together, and what
// the control shows on its own.
func verdicts(p *page, d result.Document) {
	if len(d.Verdicts) == 0 {
		return
	}
	p.heading("Verdicts")
	for _, cell := range verdictCells(d) {
		decided, open := []string{}, []result.Verdict{}
		for _, v := range d.Verdicts {
			switch {
			case v.Kind == "control" || v.Secondary || v.Cell.Key() != cell.Key():
			case v.Decision == "undecided":
				open = append(open, v)
			default:
				decided = append(decided, sentenceOf(v))
			}
		}
		if len(decided)+len(open) == 0 {
			continue
		}
		if name := cellName(cell); name != "" && len(verdictCells(d)) > 1 {
			p.sub(name)
		}
		for _, text := range decided {
			p.item(text)
		}
		undecided(p, open)
	}
	doubtNotes(p, d)
	controls(p, d)
	headline := 0
	for _, v := range d.Verdicts {
		if !v.Secondary {
			headline++
		}
	}
	for _, v := range d.Verdicts {
		if brackets(v) != "" && !v.Secondary {
			note := intervalNote(v.Level, headline, max(len(d.Looks), 1))
			if v.Metric != "capacity" {
				note += ofLatency
			}
			if d.Margin > 0 {
				note += fmt.Sprintf(" As fast means: to within %.3g %%.", 100*d.Margin)
			}
			p.note(note)
			break
		}
	}
}

// intervalNote says what the intervals promise. The level of one is that of the run
// with the error shared by all its verdicts (Bonferroni); 0 if it is not known.
func intervalNote(level float64, verdicts, looks int) string {
	text := "In brackets: the confidence interval of the ratio, from pairs of trials of the same round"
	if level > 0 && level < 1 {
		text = fmt.Sprintf("In brackets: the %s confidence interval of the ratio, from pairs of trials of the same round", confidence(level))
		if verdicts > 1 {
			text += fmt.Sprintf(", wide enough that the %d verdicts of this run are all correct with %s confidence",
				verdicts, confidence(1-(1-level)*float64(verdicts*looks)))
		}
		if looks > 1 {
			text += fmt.Sprintf(", at all %d looks that the run could take", looks)
		}
	}
	return text + "."
}

// ofLatency says what the ratios of latencies are of.
const ofLatency = " Ratios are of the whole latency, the servers' own delay included."

// confidence shows a level with as many nines as it takes.
func confidence(level float64) string {
	decimals := max(0, math.Ceil(-math.Log10(100*(1-level))-1e-9))
	return fmt.Sprintf("%.*f %%", int(decimals), 100*level)
}

func verdictCells(d result.Document) []result.Cell {
	var all []result.Cell
	seen := map[string]bool{}
	for _, v := range d.Verdicts {
		if key := v.Cell.Key(); !seen[key] {
			seen[key] = true
			all = append(all, v.Cell)
		}
	}
	return all
}

// sentenceOf says one decision: the ratio is time of A over time of B.
func sentenceOf(v result.Verdict) string {
	a, b, where := clean(v.A), clean(v.B), metricName(v.Metric)
	ci := fmt.Sprintf("%s–%s", ratio(v.CI[0]), ratio(v.CI[1]))
	if v.Metric == "capacity" {
		return sentenceOfCapacity(v, a, b, ci)
	}
	switch v.Decision {
	case "better":
		return fmt.Sprintf("%s is faster than %s %s: %s times as long (%s)", a, b, where, ratio(v.Ratio), ci)
	case "worse":
		return fmt.Sprintf("%s is slower than %s %s: %s times as long (%s)", a, b, where, ratio(v.Ratio), ci)
	}
	return fmt.Sprintf("%s is as fast as %s %s (ratio %s, %s)", a, b, where, ratio(v.Ratio), ci)
}

func metricName(metric string) string {
	switch name, is := strings.CutPrefix(metric, "latency_"); {
	case is && name == "p50":
		return "at the median"
	case is:
		return "at " + clean(name)
	}
	return "in " + clean(strings.ReplaceAll(metric, "_", " "))
}

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
	var all mergedTexts
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
