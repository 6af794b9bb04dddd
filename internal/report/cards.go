package report

import (
	"math"
	"slices"
	"strings"

	"rpclab/internal/result"
)

// Card is what the headline verdicts say of one arm against another, in one cell.
type Card struct {
	A, B  string
	Cell  string // its name, "" without a sweep
	Kind  result.VerdictKind
	Lines []CardLine
}

// CardLine is one verdict.
type CardLine struct {
	Metric   string // in words: median, p99
	Decision string // as in the document
	Mark     string // +, −, = or ?
	Word     string // faster, slower, as fast, undecided
	Ratio    string // "–" where there is none
	Interval string // "" where the rounds were too few for one
	Reason   string // why it is undecided
	// The ratio and its interval on a logarithmic scale that all cards share, from 0 to
	// 100 with a ratio of 1 in the middle; Interval is "" where Low and High are none.
	At, Low, High float64
}

// cards are in the order of the verdicts.
func cards(d result.Document) (all []Card) {
	edge := edgeOf(d.Verdicts)
	for _, v := range d.Verdicts {
		if v.Secondary {
			continue
		}
		a, b, cell := clean(v.A), clean(v.B), cellName(v.Cell)
		i := slices.IndexFunc(all, func(c Card) bool { return c.A == a && c.B == b && c.Cell == cell })
		if i < 0 {
			i = len(all)
			all = append(all, Card{A: a, B: b, Cell: cell, Kind: v.Kind})
		}
		all[i].Lines = append(all[i].Lines, lineOf(v, edge))
	}
	for _, c := range all {
		slices.SortStableFunc(c.Lines, func(a, b CardLine) int { return strings.Compare(a.Metric, b.Metric) })
	}
	return all
}

func lineOf(v result.Verdict, edge float64) CardLine {
	better, worse, same := "faster", "slower", "as fast"
	if v.Metric == "capacity" {
		better, worse, same = "more calls", "fewer calls", "as many calls"
	}
	l := CardLine{Metric: strings.TrimPrefix(strings.TrimPrefix(metricName(v.Metric), "at the "), "at "), Decision: v.Decision, Ratio: none}
	switch v.Decision {
	case "better":
		l.Mark, l.Word = "+", better
	case "worse":
		l.Mark, l.Word = "−", worse
	case "equivalent":
		l.Mark, l.Word = "=", same
	default:
		l.Mark, l.Word, l.Reason = "?", "undecided", clean(v.Reason)
	}
	if v.Ratio > 0 {
		l.Ratio, l.At = ratio(v.Ratio), onScale(v.Ratio, edge)
	}
	if v.CI != [2]float64{} {
		l.Interval = ratio(v.CI[0]) + "–" + ratio(v.CI[1])
		l.Low, l.High = onScale(v.CI[0], edge), onScale(v.CI[1], edge)
	}
	return l
}

// edgeOf is the end of the scale, as the logarithm of a ratio: the largest there is, or a
// factor of 16 where some are larger.
func edgeOf(verdicts []result.Verdict) float64 {
	edge := math.Log(1.1)
	for _, v := range verdicts {
		for _, r := range []float64{v.Ratio, v.CI[0], v.CI[1]} {
			if r > 0 && !v.Secondary {
				edge = max(edge, math.Abs(math.Log(r)))
			}
		}
	}
	return min(edge, math.Log(16))
}

func onScale(r, edge float64) float64 {
	return 50 + 50*min(max(math.Log(max(r, 1e-9))/edge, -1), 1)
}
