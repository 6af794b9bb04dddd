package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// headings are those that cobra writes, one level too deep for a page of its own.
var headings = regexp.MustCompile(`(?m)^#(#+ )`)

// writeCommands writes a page for each command of the program. It returns their paths.
func writeCommands(ctx context.Context, program, to string) ([]string, error) {
	work, err := os.MkdirTemp("", "rpclab-commands-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if said, err := exec.CommandContext(ctx, program, "man", "--format", "markdown", work).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("rpclab man: %w\n%s", err, said)
	}
	pages, err := filepath.Glob(filepath.Join(work, "*.md"))
	if err != nil {
		return nil, err
	}
	var places []string
	for _, page := range pages { // sorted: rpclab.md, rpclab_clean.md
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		place := "reference/commands/" + strings.ReplaceAll(filepath.Base(page), "rpclab.md", "index.md")
		text = []byte(strings.ReplaceAll(headings.ReplaceAllString(string(text), "$1"), "(rpclab.md)", "(index.md)"))
		if err := write(to, place, text); err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	return places, nil
}
