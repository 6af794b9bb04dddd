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
	"strings"

	"rpclab/internal/report"
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
		if err := f.reword(&document.document); err != nil {
			return err
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

// rowOf matches the row of the README that links to the page of a finding. Its group is the question.
func rowOf(f finding) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\| [^|]+ \| ).*\(docs/findings/` + regexp.QuoteMeta(f.Name) + `\.md\).* \|$`)
}

// index replaces the table of an index by the rows of the README, and a list of the pages that are missing. It replaces
// the list of quick runs too.
func (s store) index(text string, all list) (string, error) {
	readme, err := os.ReadFile(s.readme)
	if err != nil {
		return "", err
	}
	rows := string(readme)
	for _, f := range all {
		if !rowOf(f).MatchString(rows) { // the README has no row of a part of a question
			rows += fmt.Sprintf("\n| %s | [%s](docs/findings/%[2]s.md) |", report.Escape(cmp.Or(f.Question, f.Name)), f.Name)
		}
	}
	answered, err := s.answers(rows, all)
	if err != nil {
		return "", err
	}
	table, missing := "| question | answer |\n|---|---|\n", []string{}
	for _, f := range all {
		if _, err := os.Stat(filepath.Join(s.dir, f.Name+".md")); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, "`"+f.Name+"`")
			continue
		}
		table += strings.ReplaceAll(rowOf(f).FindString(answered), "docs/findings/", "") + "\n"
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
	if text, err = between(text, begin, end, table); err != nil {
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
		text = rowOf(f).ReplaceAllString(text, "${1}"+strings.ReplaceAll("["+report.Escape(answer)+"](docs/findings/"+f.Name+".md). |", "$", "$$"))
	}
	return text, nil
}
