package report

import (
	"fmt"
	"math"
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
	doubts(p, d)
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
			all := fmt.Sprintf("all %d", verdicts)
			if verdicts == 2 {
				all = "both"
			}
			text += fmt.Sprintf(", wide enough that %s verdicts of this run hold together with %s",
				all, confidence(1-(1-level)*float64(verdicts*looks)))
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
