package report

import "rpclab/internal/result"

// Sections is what a report says of a run, part by part, for pages that arrange it in their
// own order and draw its pictures themselves. A part with nothing to say is empty.
type Sections struct {
	Question     string    // what was asked
	Answer       string    // in a sentence or two
	EventsFirst  bool      // the question is about events, which come before any latency
	Head         []Element // where, when and how much of it
	Cards        []Card    // of the headline verdicts
	Results      []Element // one table of all arms in all cells, and what its columns mean
	Capacity     []Element
	Verdicts     []Element
	OtherMetrics []Element // verdicts on what is no headline
	Balance      []Element
	Confound     []Element
	Events       []Element // all but the picture over time
	ProxyLatency []Element
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

// Table has the name of a row in its first column, and no column that is empty.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Column is one column of a Table.
type Column struct {
	Name   string
	Number bool // to be aligned to the right
}

// SectionsOf takes a document apart into its story.
func SectionsOf(d result.Document) Sections {
	s := Sections{Question: clean(d.Question), Answer: Answer(d), EventsFirst: asksAboutEvents(d), Head: partsOf(d, head)}
	s.Capacity, s.Failures, s.Warnings = partsOf(d, capacities), partsOf(d, failures), partsOf(d, warnings)
	if !measured(d) {
		return s
	}
	s.Cards, s.Results, s.Verdicts, s.OtherMetrics = cards(d), partsOf(d, func(p *page, d result.Document) { resultsInOneTable(p, d); throughput(p, d) }), partsOf(d, verdicts), partsOf(d, otherMetrics)
	s.Balance, s.Confound, s.Events, s.ProxyLatency = partsOf(d, balance), partsOf(d, confounds), partsOf(d, eventTables), partsOf(d, proxyLatency)
	s.Cost = partsOf(d, func(p *page, d result.Document) { cost(p, d); securityCost(p, d); idleWorkers(p, d) })
	return s
}

// partsOf are the parts that one section writes.
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

// open is the table for others, without empty columns.
func (t table) open() *Table {
	t = t.drop()
	out := &Table{Rows: t.rows}
	for _, c := range t.columns {
		out.Columns = append(out.Columns, Column{Name: c.name, Number: c.right})
	}
	return out
}

// resultsInOneTable is times with all cells in one table, to be sorted by any column.
func resultsInOneTable(p *page, d result.Document) {
	t := table{columns: append([]column{{"arm", false}, {"at", false}}, resultColumns[1:]...)}
	for _, cell := range cells(d) {
		where := ""
		if len(cells(d)) > 1 {
			where = cellName(cell)
		}
		for _, arm := range armsIn(d, cell) {
			row := resultRow(d, arm)
			t.rows = append(t.rows, append([]string{row[0], where}, row[1:]...))
		}
	}
	p.grid(t)
	for _, cell := range cells(d) {
		if len(cells(d)) > 1 {
			publishedNotes(p, d, cell, at(cell))
		} else {
			publishedNotes(p, d, cell, "")
		}
	}
	legend(p, d)
}
