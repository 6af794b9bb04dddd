package report

import "rpclab/internal/result"

// Story is what a report says of a run, part by part, for pages that arrange it in their
// own order and draw its pictures themselves. A part with nothing to say is empty.
type Story struct {
	Question string // what was asked
	Answer   string // and found, in one sentence
	Head     []Part // where, when and how much of it
	Cards    []Card // of the headline verdicts
	Times    []Part // one table of all arms in all cells, and what its columns mean
	Capacity []Part
	Verdicts []Part
	Besides  []Part // verdicts on what is no headline
	Balance  []Part
	Confound []Part
	Events   []Part // all but the picture over time
	Hops     []Part
	Cost     []Part
	Failures []Part
	Warnings []Part
}

// Part is one piece of text, or a table.
type Part struct {
	Kind  string // heading, subheading, sentence, item or table
	Text  string // its code stands between backquotes
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

// Tell takes a document apart into its story.
func Tell(d result.Document) Story {
	s := Story{Question: clean(d.Question), Answer: Answer(d), Head: partsOf(d, head)}
	s.Capacity, s.Failures, s.Warnings = partsOf(d, capacities), partsOf(d, failures), partsOf(d, warnings)
	if !measured(d) {
		return s
	}
	s.Cards, s.Times, s.Verdicts, s.Besides = cards(d), partsOf(d, func(p *page, d result.Document) { timesTogether(p, d); rates(p, d) }), partsOf(d, verdicts), partsOf(d, besides)
	s.Balance, s.Confound, s.Events, s.Hops = partsOf(d, balance), partsOf(d, confounds), partsOf(d, eventTables), partsOf(d, hops)
	s.Cost = partsOf(d, func(p *page, d result.Document) { cost(p, d); securityCost(p, d); idleWorkers(p, d) })
	return s
}

// partsOf are the parts that one section writes.
func partsOf(d result.Document, write func(*page, result.Document)) []Part {
	var p page
	write(&p, d)
	var parts []Part
	for _, b := range p.blocks {
		if part, ok := b.part(); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

func (b block) part() (Part, bool) {
	part := Part{Text: b.text, Tone: map[tone]string{quiet: "note", loud: "warning"}[b.tone]}
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

// timesTogether is times with all cells in one table, to be sorted by any column.
func timesTogether(p *page, d result.Document) {
	t := table{columns: append([]column{{"arm", false}, {"at", false}}, timesColumns[1:]...)}
	for _, cell := range cells(d) {
		where := ""
		if len(cells(d)) > 1 {
			where = cellName(cell)
		}
		for _, arm := range armsIn(d, cell) {
			row := timesRow(d, arm)
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
