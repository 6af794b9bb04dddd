package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// figure is a picture of intervals, a row for each, on one axis.
type figure struct {
	title string
	rows  []interval
	ticks []tick
}

// interval is one row. Positions are from 0 to 1.
type interval struct {
	cell, label, text string
	class             string // better, worse, equivalent, undecided or value
	low, at, high     float64
	marked            bool // it has a position
}

type tick struct {
	at   float64
	text string
}

// figureOf draws the ratios of the first headline metric on which an interval is decided, else of the first with an
// interval. It draws shares of lost calls if there is none: a ratio of times that may be infinite says little, and routes
// balance calls in one of two ways.
func figureOf(d result.Document) figure {
	metric, decided := "", false
	for _, name := range d.Headline {
		if name == "failed" || name == "followed" || name == "balance" {
			continue
		}
		for _, v := range d.Verdicts {
			if v.Metric != name || v.Secondary || !v.Kind.AnswersQuestion() || v.CI[1] == 0 {
				continue
			}
			if is := v.Decision != "undecided"; metric == "" || is && !decided {
				metric, decided = name, is
			}
		}
	}
	if metric == "" {
		return losses(d)
	}
	return ratios(d, metric)
}

// widest is the largest ratio on the axis. Longer intervals end at the edge.
const widest = 16

func ratios(d result.Document, metric string) figure {
	var shown []result.Verdict
	edge := math.Log(1.1)
	for _, v := range d.Verdicts {
		if v.Metric != metric || v.Secondary || v.Kind == result.OfConfound {
			continue
		}
		shown = append(shown, v)
		if v.OfLostCalls() {
			continue
		}
		for _, r := range []float64{v.Ratio, v.CI[0], v.CI[1]} {
			if r > 0 {
				edge = max(edge, math.Abs(math.Log(r)))
			}
		}
	}
	edge = min(edge, math.Log(widest))
	place := func(ratio float64) float64 { return 0.5 + 0.5*min(max(math.Log(ratio)/edge, -1), 1) }
	f := figure{title: "Ratio to the arm after “/”, with its confidence interval"}
	for _, r := range []float64{1. / 16, 1. / 8, 0.25, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 4, 8, 16} {
		if near := math.Abs(math.Log(r)); near > edge+1e-9 || r != 1 && near < edge/6 {
			continue
		}
		f.ticks = append(f.ticks, tick{place(r), fmt.Sprintf("%.3g", r)})
	}
	for i, v := range shown {
		line := report.LineOf(v)
		if i == 0 {
			f.title = capital(line.Metric) + ": " + strings.ToLower(f.title[:1]) + f.title[1:]
		}
		row := interval{cell: report.CellName(v.Cell), label: report.Clean(v.A + " / " + v.B), class: v.Decision, text: line.Word + " " + line.Ratio}
		if v.Kind == result.OfControl {
			row.text = "A/A control " + line.Ratio
		}
		if v.OfLostCalls() {
			row.text = "no verdict: calls were lost"
		} else if v.CI[1] > 0 && v.Ratio > 0 {
			row.text += " (" + line.Interval + ")"
			row.low, row.at, row.high, row.marked = place(v.CI[0]), place(v.Ratio), place(v.CI[1]), true
		}
		f.rows = append(f.rows, row)
	}
	return f
}

func losses(d result.Document) figure {
	f := figure{title: "Share of the calls that failed or were dropped, and its range over the rounds"}
	most := 0.01
	for _, a := range d.Arms {
		for _, t := range a.Trials {
			most = max(most, t.Measures.Lost())
		}
	}
	for _, edge := range []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1} {
		if most <= edge {
			most = edge
			break
		}
	}
	for _, share := range []float64{0, most / 2, most} {
		f.ticks = append(f.ticks, tick{share / most, fmt.Sprintf("%.3g %%", 100*share)})
	}
	for _, a := range d.Arms {
		row := interval{cell: report.CellName(a.Cell), label: report.Clean(a.Name), text: "no measurement"}
		if due := a.Calls + a.Dropped; due > 0 {
			row.text = grouped(float64(a.Failed()+a.Dropped)) + " of " + grouped(float64(due))
			row.class, row.low, row.at, row.marked = "value", 1, a.Lost()/most, true
		}
		for _, t := range a.Trials {
			row.low, row.high = min(row.low, t.Measures.Lost()/most), max(row.high, t.Measures.Lost()/most)
		}
		f.rows = append(f.rows, row)
	}
	return f
}

// The size of a figure: of the columns of labels, intervals and texts, and of a row.
const labels, plot, texts, rowHeight, top = 300, 300, 250, 20, 44

// style has colours for light and for dark pages.
const style = `text{font:12px system-ui,sans-serif;fill:#1f2328}.cell{font-weight:600}.grid{stroke:#d0d7de}.tick{font-size:11px;fill:#59636e}` +
	`.better{stroke:#1a7f37;fill:#1a7f37}.worse{stroke:#cf222e;fill:#cf222e}.equivalent,.value{stroke:#0969da;fill:#0969da}.undecided{stroke:#818b98;fill:#818b98}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.grid{stroke:#3d444d}.tick{fill:#9198a1}.better{stroke:#3fb950;fill:#3fb950}` +
	`.worse{stroke:#f85149;fill:#f85149}.equivalent,.value{stroke:#4493f8;fill:#4493f8}.undecided{stroke:#9198a1;fill:#9198a1}}`

// svg draws the figure. Equal figures give equal bytes.
func (f figure) svg() string {
	cells := 0
	for i, r := range f.rows {
		if r.cell != "" && (i == 0 || r.cell != f.rows[i-1].cell) {
			cells++
		}
	}
	height := top + rowHeight*(len(f.rows)+cells) + 10
	x := func(at float64) float64 { return labels + plot*at }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n<title>%s</title>\n<style>%s</style>\n",
		labels+plot+texts, height, html.EscapeString(f.title), style)
	fmt.Fprintf(&b, `<text x="0" y="14">%s</text>`+"\n", html.EscapeString(f.title))
	for _, t := range f.ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(t.at), top-8, x(t.at), height-8, x(t.at), top-12, html.EscapeString(t.text))
	}
	y := top + rowHeight/2
	for i, r := range f.rows {
		if r.cell != "" && (i == 0 || r.cell != f.rows[i-1].cell) {
			fmt.Fprintf(&b, `<text class="cell" x="0" y="%d">%s</text>`+"\n", y+4, html.EscapeString(r.cell))
			y += rowHeight
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labels-12, y+4, html.EscapeString(r.label))
		if class := cmp.Or(r.class, "undecided"); r.marked {
			fmt.Fprintf(&b, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke-width="2"/><circle class="%s" cx="%.1f" cy="%d" r="4"/>`,
				class, x(r.low), y, x(r.high), y, class, x(r.at), y)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", labels+plot+14, y+4, html.EscapeString(r.text))
		y += rowHeight
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func capital(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// grouped is a number with three significant digits, or a whole number with its digits grouped: 12,345.
func grouped(v float64) string {
	if math.Abs(v) < 999.5 { // else it would be rounded to 1e+03
		return fmt.Sprintf("%.3g", v)
	}
	digits := []string{}
	for text := fmt.Sprintf("%.0f", v); text != ""; {
		cut := max(0, len(text)-3)
		digits, text = append(digits, text[cut:]), text[:cut]
	}
	slices.Reverse(digits)
	return strings.Join(digits, ",")
}
