package report

import (
	"bufio"
	"io"
	"strings"
)

func writeMarkdown(w io.Writer, p page) error {
	out := bufio.NewWriter(w)
	for i, b := range p.blocks {
		if i > 0 && (b.kind != item || p.blocks[i-1].kind != item) {
			out.WriteByte('\n')
		}
		out.WriteString(markdown(b))
	}
	return out.Flush()
}

func markdown(b block) string {
	switch b.kind {
	case title:
		return "## " + escape(b.text) + "\n"
	case heading:
		return "### " + escape(b.text) + "\n"
	case subheading:
		return "#### " + escape(b.text) + "\n"
	case item:
		return "- " + stress(b) + "\n"
	case grid:
		return b.table.drop().markdown()
	case picture:
		return "```text\n" + strings.Join(trimmed(pictureLines(b.lines, maxWidth)), "\n") + "\n```\n"
	}
	return stress(b) + "\n"
}

// Markdown formats one element, for pages that have their own order.
func (e Element) Markdown() string {
	b := block{text: e.Text, tone: map[string]tone{"note": quiet, "warning": loud}[e.Tone]}
	b.kind = map[string]kind{"heading": heading, "subheading": subheading, "sentence": sentence, "item": item, "table": grid}[e.Kind]
	if e.Table != nil {
		t := table{rows: e.Table.Rows}
		for _, c := range e.Table.Columns {
			t.columns = append(t.columns, column{c.Name, c.Number})
		}
		b.table = &t
	}
	return markdown(b)
}

// Escape makes text safe in Markdown, except for `code`.
func Escape(text string) string { return escape(text) }

// stress makes warnings bold and notes small.
func stress(b block) string {
	switch b.tone {
	case loud:
		return "**" + escape(b.text) + "**"
	case quiet:
		return "<sub>" + escape(b.text) + "</sub>"
	}
	return escape(b.text)
}

func (t table) markdown() string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	names, rule := []string{}, []string{}
	for _, column := range t.columns {
		names = append(names, escape(column.name))
		rule = append(rule, map[bool]string{true: "---:", false: "---"}[column.right])
	}
	line(names)
	line(rule)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for c, cell := range row {
			cells[c] = escape(cell)
		}
		line(cells)
	}
	return out.String()
}

var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "~", `\~`)

// escape escapes text, except for `code`.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = special.Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
