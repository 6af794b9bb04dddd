package report

import (
	"cmp"
	"math"
	"slices"

	"rpclab/internal/result"
)

// Sections are the sections of a report, for pages that have their own order and pictures. A section
// without content is empty.
type Sections struct {
	Question     string    // what was asked
	Answer       string    // in a sentence or two
	EventsFirst  bool      // the question is about events: show them before latency
	Conditions   []Element // which assertions and gates failed
	Head         []Element // place, time and number of trials
	Assertions   []Element // that the user made
	Gates        []Element
	Summary      []Element // the table of the short report, with all arms
	Longer       []Element // why verdicts are undecided, and how long a run must be to detect smaller differences
	Cards        []Card    // of the headline verdicts
	Results      []Element // one table of all arms in all cells, and its legend
	Capacity     []Element
	Verdicts     []Element
	OtherMetrics []Element // verdicts on other metrics
	Balance      []Element
	Confound     []Element
	Events       []Element // without the picture over time
	ProxyLatency []Element
	Differences  []Element // what one call takes and does more, for each decided difference
	Cost         []Element
	Failures     []Element
	Warnings     []Element
}

// Element is one piece of text, or a table.
type Element struct {
	Kind  string // heading, subheading, sentence, item or table
	Text  string // code is between backquotes
	Tone  string // "", note or warning
	Table *Table // of kind table
}

// Table has the name of a row in its first column, and no empty column.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Column is one column of a Table.
type Column struct {
	Name   string
	Number bool // to be aligned to the right
}

// SectionsOf returns the sections of a document.
func SectionsOf(d result.Document) Sections {
	s := Sections{Question: clean(d.Question), Answer: Answer(d), EventsFirst: asksAboutEvents(d), Head: partsOf(d, head)}
	s.Conditions, s.Assertions, s.Gates = partsOf(d, conditions), partsOf(d, assertions), partsOf(d, gatesOfRun)
	s.Capacity, s.Failures, s.Warnings = partsOf(d, capacities), partsOf(d, failures), partsOf(d, warnings)
	if !measured(d) {
		return s
	}
	s.Cards, s.Results, s.Verdicts, s.OtherMetrics = cards(d), partsOf(d, func(p *page, d result.Document) { resultsInOneTable(p, d); throughput(p, d) }), partsOf(d, func(p *page, d result.Document) { verdicts(p, d); power(p, d) }), partsOf(d, otherMetrics)
	s.Summary = partsOf(d, func(p *page, d result.Document) { summaryTable(p, d, len(d.Arms), len(d.Arms)) })
	s.Longer = partsOf(d, toDecide)
	s.Balance, s.Confound, s.Events, s.ProxyLatency = partsOf(d, balance), partsOf(d, confounds), partsOf(d, eventTables), partsOf(d, proxyLatency)
	s.Differences = partsOf(d, differences)
	s.Cost = partsOf(d, func(p *page, d result.Document) { cost(p, d); securityCost(p, d); idleWorkers(p, d) })
	return s
}

// toDecide says why the verdicts that answer the question are undecided, and how long a run must be.
func toDecide(p *page, d result.Document) {
	var open []result.Verdict
	for _, v := range d.Verdicts {
		tested := v.Cause == nil || v.Cause.Kind != result.CauseNotTested
		if v.Decision == "undecided" && v.Kind.AnswersQuestion() && !v.Secondary && tested {
			open = append(open, v)
		}
	}
	whyOpen(p, open)
	longer(p, d)
}

// partsOf are the elements that write adds to a page.
func partsOf(d result.Document, write func(*page, result.Document)) []Element {
	var p page
	write(&p, d)
	var parts []Element
	for _, b := range p.blocks {
		if part, ok := b.part(); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

func (b block) part() (Element, bool) {
	part := Element{Text: b.text, Tone: map[tone]string{quiet: "note", loud: "warning"}[b.tone]}
	switch b.kind {
	case title, picture:
		return part, false
	case heading:
		part.Kind = "heading"
	case subheading:
		part.Kind = "subheading"
	case sentence:
		part.Kind = "sentence"
	case item:
		part.Kind = "item"
	case grid:
		part.Kind = "table"
		part.Table = b.table.open()
	}
	return part, true
}

// open is the exported form of the table, without empty columns.
func (t table) open() *Table {
	t = t.drop()
	out := &Table{Rows: t.rows}
	for _, c := range t.columns {
		out.Columns = append(out.Columns, Column{Name: c.name, Number: c.right})
	}
	return out
}

// Card has the headline verdicts on one pair of arms in one cell.
type Card struct {
	A, B  string
	Cell  string // its name, "" without a sweep
	Kind  result.VerdictKind
	Lines []CardLine
}

// CardLine is one verdict.
type CardLine struct {
	Metric   string // in words: median, p99
	metric   string // as in the document
	Decision string // as in the document
	Mark     string // +, −, = or ?
	Word     string // faster, slower, as fast, undecided, no verdict
	Ratio    string // "–" where there is none, or the values of both arms where their ratio says nothing
	Number   bool   // Ratio is a number
	Interval string // "" where the rounds were too few for one
	Reason   string // why it is undecided
	// The ratio and its interval on a logarithmic scale that all cards share, from 0 to 100 with a
	// ratio of 1 in the middle. Low and High are not set if Interval is "".
	At, Low, High float64
}

// cards are in the order of the verdicts.
func cards(d result.Document) (all []Card) {
	edge, place := edgeOf(d.Verdicts), map[[3]string]int{}
	for _, v := range d.Verdicts {
		if v.Secondary {
			continue
		}
		a, b, cell := clean(v.A), clean(v.B), cellName(v.Cell)
		i, known := place[[3]string{a, b, cell}]
		if !known {
			i = len(all)
			place[[3]string{a, b, cell}] = i
			all = append(all, Card{A: a, B: b, Cell: cell, Kind: v.Kind})
		}
		all[i].Lines = append(all[i].Lines, lineOf(v, ValuesOf(d, v), edge))
	}
	order := inOrder(d.Headline)
	for _, c := range all {
		slices.SortStableFunc(c.Lines, func(a, b CardLine) int { return order(a.metric, b.metric) })
	}
	return all
}

// LineOf puts one verdict into words, on a scale of its own.
func LineOf(v result.Verdict) CardLine { return lineOf(v, "", edgeOf([]result.Verdict{v})) }

func lineOf(v result.Verdict, values string, edge float64) CardLine {
	l := CardLine{Metric: metricNoun(v.Metric), metric: v.Metric, Decision: v.Decision, Ratio: cmp.Or(values, none)}
	l.Word = comparativeOf(v.Metric).words(v.Decision)
	switch v.Decision {
	case "better":
		l.Mark = "+"
	case "worse":
		l.Mark = "−"
	case "equivalent":
		l.Mark = "="
	default:
		l.Mark, l.Word, l.Reason = "?", "undecided", clean(v.Reason)
		switch {
		case v.Cause != nil && v.Cause.Kind == result.CauseNotTested:
			l.Word = "not tested"
		case v.Unfit:
			l.Word = noVerdict
		}
	}
	if v.OfLostCalls() || !v.HasRatio() {
		return l
	}
	l.Ratio, l.Number, l.At = ratioInTable(v.Ratio, v.Bound), true, onScale(v.Ratio, edge)
	if v.CI != [2]float64{} {
		l.Interval = ratio(v.CI[0]) + "–" + ratio(v.CI[1])
		l.Low, l.High = onScale(v.CI[0], edge), onScale(v.CI[1], edge)
	}
	return l
}

// edgeOf is the end of the scale as the logarithm of a ratio: the largest ratio, at most 16.
func edgeOf(verdicts []result.Verdict) float64 {
	edge := math.Log(1.1)
	for _, v := range verdicts {
		if !v.HasRatio() {
			continue
		}
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

// TimelineTrials are the trials of the arms of a cell whose timelines are drawn, by arm: of the round in which most
// arms have a timeline, else the arm's first. Arms without a timeline are left out.
func TimelineTrials(arms []result.Arm) map[string]result.Trial {
	round := roundDrawn(arms)
	trials := map[string]result.Trial{}
	for _, arm := range arms {
		if trial, ok := timelineOf(arm, round); ok {
			trials[arm.Name] = trial
		}
	}
	return trials
}

// CellName is "burst = 2,000": of each path the last field, where that is unique; "" without a sweep.
func CellName(c result.Cell) string { return cellName(c) }

// PublishedFor is the published figure for an arm in its cell, if the settings are the same.
func PublishedFor(d result.Document, a result.Arm) (result.Published, bool) {
	return publishedFor(d, a)
}

// Clean makes text from outside safe to show: one line, without control characters and backquotes.
func Clean(text string) string { return clean(text) }

// Effect is the effect of one event on one arm over all rounds: the sum of failed calls, and the median
// of each time in milliseconds, +Inf if not observed.
type Effect struct {
	Arm, What       string
	Place           int     // of the event in its trial, from 0
	At              float64 // seconds from the start of the load
	Failed          uint64
	ResolverUpdated float64 // until the resolver was updated
	FirstCall       float64 // until the first response of a new backend
	Balanced        float64 // until the balance was restored
}

// Effects are those of all events that rpclab performed, for each cell in the order of the document.
func Effects(d result.Document) (all [][]Effect) {
	events := eventsByArm(d)
	for _, in := range d.ArmsByCell() {
		all = append(all, effects(eventOutcomes(in.All, events)))
	}
	return all
}

func effects(outcomes []*eventOutcome) (all []Effect) {
	for _, h := range outcomes {
		if !h.isPerformed() {
			continue
		}
		all = append(all, Effect{Arm: h.arm, What: clean(h.what), Place: h.place, At: median(h.at), Failed: h.failed,
			ResolverUpdated: h.typical(resolverUpdated), FirstCall: h.typical(firstCall), Balanced: h.typical(balancedAgain)})
	}
	return all
}
