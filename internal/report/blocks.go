package report

// page is the content of a report, which the terminal and Markdown format.
type page struct{ blocks []block }

// block is exactly one of its kinds.
type block struct {
	kind  kind
	aside bool // for Markdown only: too long for a terminal
	tone  tone
	text  string   // title, heading, sentence, item
	table *table   // kind grid
	lines []stripe // kind picture
}

type kind int

const (
	title kind = iota
	heading
	subheading
	sentence
	item
	grid
	picture
)

type tone int

const (
	plain tone = iota
	quiet      // a note
	loud       // a warning
)

// table has the name of a row in its first column.
type table struct {
	columns []column
	rows    [][]string
}

type column struct {
	name  string
	right bool // numbers
}

// stripe is one line of a picture: values over time, drawn from 0 to top.
type stripe struct {
	label  string
	values []float64
	top    float64
	marks  map[int]string // instead of values: texts by step
}

// aside adds a block that only Markdown shows.
func (p *page) aside(b block) {
	b.aside = true
	p.add(b)
}

func (p *page) add(b block)           { p.blocks = append(p.blocks, b) }
func (p *page) title(text string)     { p.add(block{kind: title, text: text}) }
func (p *page) heading(text string)   { p.add(block{kind: heading, text: text}) }
func (p *page) sub(text string)       { p.add(block{kind: subheading, text: text}) }
func (p *page) say(text string)       { p.add(block{kind: sentence, text: text}) }
func (p *page) note(text string)      { p.add(block{kind: sentence, text: text, tone: quiet}) }
func (p *page) warn(text string)      { p.add(block{kind: sentence, text: text, tone: loud}) }
func (p *page) item(text string)      { p.add(block{kind: item, text: text}) }
func (p *page) alarm(text string)     { p.add(block{kind: item, text: text, tone: loud}) }
func (p *page) grid(t table)          { p.add(block{kind: grid, table: &t}) }
func (p *page) picture(rows []stripe) { p.add(block{kind: picture, lines: rows}) }

// drop is the table without columns that are empty in every row.
func (t table) drop() table {
	var kept table
	for c, column := range t.columns {
		used := c == 0
		for _, row := range t.rows {
			used = used || row[c] != ""
		}
		if !used {
			continue
		}
		kept.columns = append(kept.columns, column)
		if kept.rows == nil {
			kept.rows = make([][]string, len(t.rows))
		}
		for r, row := range t.rows {
			kept.rows[r] = append(kept.rows[r], row[c])
		}
	}
	return kept
}
