// Package pages finds the code blocks of Markdown pages, for the tests that execute them.
package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Block is a code block, between fences or indented.
type Block struct {
	Line     int    // of the page
	Language string // such as sh; empty: none
	Text     string
	Note     string // the comment in the line above, such as: tested by TestReadmeCommandsWork
}

var (
	opening = regexp.MustCompile("^(````*)(\\S*)")
	comment = regexp.MustCompile(`^<!-- (.*) -->$`)
	before  = regexp.MustCompile(`^(#+ .*|<!-- .* -->)?$`) // of an indented block
)

// Blocks returns the code blocks of a page in their order. Blocks in lists are not found.
func Blocks(page string) (all []Block) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		fence, b := opening.FindStringSubmatch(lines[i]), Block{Line: i + 1}
		indented := strings.HasPrefix(lines[i], "    ") && (i == 0 || before.MatchString(lines[i-1]))
		if fence == nil && !indented {
			continue
		}
		if i > 0 {
			if found := comment.FindStringSubmatch(lines[i-1]); found != nil {
				b.Note = found[1]
			}
		}
		var text []string
		if fence != nil {
			b.Language = fence[2]
			for i++; i < len(lines) && lines[i] != fence[1]; i++ {
				text = append(text, lines[i])
			}
		} else {
			for ; i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "    ")); i++ {
				text = append(text, strings.TrimPrefix(lines[i], "    "))
			}
		}
		b.Text = strings.TrimRight(strings.Join(text, "\n"), "\n") + "\n"
		all = append(all, b)
	}
	return all
}

// programs begin the commands of pages.
var programs = regexp.MustCompile(`(?m)^(?:[A-Z_]+=\S* )*(?:rpclab|go|make|git|kubectl|helm|curl|prometheus|docker|ctr|pip|python3|npm|apt-get|seq|xargs|cd|set) `)

// Commands reports whether a block has commands for a shell.
func (b Block) Commands() bool {
	switch b.Language {
	case "sh", "bash", "console":
		return true
	case "", "text":
		return programs.MatchString(b.Text)
	}
	return false
}

// Lines are the commands of a block, without comments. A command that continues on the next line is one.
func (b Block) Lines() (all []string) {
	text := strings.ReplaceAll(b.Text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = regexp.MustCompile(`(^|\s)#.*`).ReplaceAllString(strings.TrimSpace(line), "")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// TestedBy returns the blocks of a file that this test must execute, of which there is at least one.
func TestedBy(t *testing.T, file string) (all []Block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range Blocks(string(text)) {
		if b.Note == "tested by "+t.Name() {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no block that is tested by %s", file, t.Name())
	}
	return all
}
