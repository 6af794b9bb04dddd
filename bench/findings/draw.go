package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"gopkg.in/yaml.v3"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// The lines around the table of the index, and around its list of quick runs.
const (
	begin, end           = "<!-- written by go run ./bench/findings -->\n", "<!-- end -->"
	beginQuick, endQuick = "<!-- quick runs, written by go run ./bench/findings -->\n", "<!-- end of quick runs -->"
)

// draw writes the pages of the chosen findings that have a document, and the tables that list all pages.
func (s store) draw(all, chosen list) error {
	for _, f := range chosen {
		document, err := read(s.path(f))
		if err != nil {
			return err
		}
		if document == nil {
			continue
		}
		for name, text := range drawn(f, *document) {
			if err := replace(filepath.Join(s.dir, name), []byte(text)); err != nil {
				return err
			}
		}
	}
	return s.drawTables(all)
}

// drawTables writes the table of the index, and the answers into the table of the README.
func (s store) drawTables(all list) error {
	for file, change := range map[string]func(string, list) (string, error){filepath.Join(s.dir, "README.md"): s.index, s.readme: s.answers} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		changed, err := change(string(text), all)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := replace(file, []byte(changed)); err != nil {
			return err
		}
	}
	return nil
}

// between replaces what is between two lines of a text.
func between(text, begin, end, now string) (string, error) {
	before, rest, found := strings.Cut(text, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", fmt.Errorf("no lines %q and %q", strings.TrimSpace(begin), end)
	}
	return before + begin + now + end + after, nil
}

// index replaces the table of an index by a row for each page, and a list of those that are missing. It replaces the
// list of quick runs too.
func (s store) index(text string, all list) (string, error) {
	table, missing := "| question | page |\n|---|---|\n", []string{}
	for _, f := range all {
		if _, err := os.Stat(filepath.Join(s.dir, f.Name+".md")); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, "`"+f.Name+"`")
			continue
		}
		definition, err := f.definition()
		if err != nil {
			return "", err
		}
		var d struct{ Question string }
		if err := yaml.Unmarshal(definition, &d); err != nil {
			return "", err
		}
		table += fmt.Sprintf("| %s | [%s](%[2]s.md) |\n", report.Escape(cmp.Or(f.Question, d.Question)), f.Name)
	}
	if len(missing) > 0 {
		table += "\nNo page yet, because a quiet machine has not measured them: " + strings.Join(missing, ", ") +
			".\n`go run ./bench/findings` measures what is missing.\n"
	}
	quick := ""
	for _, f := range all {
		if f.Quick != "" {
			quick += "- " + f.Quick + "\n"
		}
	}
	text, err := between(text, begin, end, table)
	if err != nil {
		return "", err
	}
	return between(text, beginQuick, endQuick, quick)
}

// answers replaces the answer in each row of the README that links to a generated page.
func (s store) answers(text string, all list) (string, error) {
	for _, f := range all {
		document, err := read(s.path(f))
		if err != nil { // which concerns no other finding
			log.Printf("the answer to %s stays as it is: %v", f.Name, err)
			continue
		}
		if document == nil {
			continue
		}
		answer, err := f.shortAnswer(document.document)
		if err != nil {
			return "", err
		}
		row := regexp.MustCompile(`(?m)^(\| [^|]+ \| ).*\(docs/findings/` + regexp.QuoteMeta(f.Name) + `\.md\).* \|$`)
		text = row.ReplaceAllString(text, "${1}"+strings.ReplaceAll("["+report.Escape(answer)+"](docs/findings/"+f.Name+".md). |", "$", "$$"))
	}
	return text, nil
}

// shortAnswer is the answer of the list, with the ratios of the document, or the first clause of the report's.
func (f finding) shortAnswer(d result.Document) (string, error) {
	if f.Answer == "" {
		return clause(report.Answer(d)), nil
	}
	ratios := func(arm string, cells []string) (all []float64, err error) { // of some cells; nil: of all
		for _, v := range d.Verdicts {
			if v.A == arm && len(d.Headline) > 0 && v.Metric == d.Headline[0] && v.Kind.AnswersQuestion() &&
				(len(cells) == 0 || slices.Contains(cells, report.CellName(v.Cell))) {
				all = append(all, v.Ratio)
			}
		}
		if len(all) == 0 {
			err = fmt.Errorf("the document has no verdict on %s", strings.Join(append([]string{arm}, cells...), " at "))
		}
		return all, err
	}
	ratio := func(arm string, cells ...string) (string, error) {
		all, err := ratios(arm, cells)
		if err != nil {
			return "", err
		}
		return span("%.3g", all), nil
	}
	less := func(arm string, cells ...string) (string, error) { // of the metric, in percent
		all, err := ratios(arm, cells)
		if err != nil {
			return "", err
		}
		for i, r := range all {
			all[i] = 100 * (1 - r)
		}
		return span("%.2g", all) + " %", nil
	}
	lost := func(arm string) (string, error) { // or its range over the cells
		var shares []float64
		for _, a := range d.Arms {
			if a.Name == arm {
				shares = append(shares, 100*a.Lost())
			}
		}
		switch {
		case len(shares) == 0:
			return "", fmt.Errorf("the document has no arm %s", arm)
		case slices.Max(shares) == 0:
			return "none", nil
		}
		return span("%.2g", shares) + " %", nil
	}
	p50 := func(arm string) (string, error) { // or its range over the cells, in milliseconds
		var all []float64
		for _, a := range d.Arms {
			if a.Name == arm && !a.Latency.Empty() {
				all = append(all, a.Latency.P50)
			}
		}
		if len(all) == 0 {
			return "", fmt.Errorf("the document has no latency of %s", arm)
		}
		return span("%.2g", all), nil
	}
	text, err := template.New("answer").Funcs(template.FuncMap{"ratio": ratio, "less": less, "lost": lost, "p50": p50}).Parse(f.Answer)
	if err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	var answer strings.Builder
	if err := text.Execute(&answer, nil); err != nil {
		return "", fmt.Errorf("answer of %s: %w", f.Name, err)
	}
	return answer.String(), nil
}

// span formats the range of values, or their value.
func span(format string, values []float64) string {
	low, high := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
	if low == high {
		return low
	}
	return low + "–" + high
}

// clause is the first clause of an answer, which has its result.
func clause(answer string) string {
	for _, stop := range []string{"; ", ". "} {
		answer, _, _ = strings.Cut(answer, stop)
	}
	return strings.TrimSuffix(answer, ".")
}
