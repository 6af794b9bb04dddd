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

var (
	// deep are the headings that cobra writes, one level too deep for a page of its own.
	deep = regexp.MustCompile(`(?m)^#(#+ )`)
	// options are those of a command, in one code block.
	options = regexp.MustCompile("(?m)^(## Options.*\n\n)```\n((?:.*\n)+?)```\n")
	option  = regexp.MustCompile(`(?m)^ *(?:(-\w), )?(--[a-z0-9-]+)(?: (.+?))?(?: {2,}(.*))?$`)
)

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
		if err := write(to, place, []byte(commandPage(string(text)))); err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	return places, nil
}

// commandPage is a page of cobra, with a table of options, because their lines are longer than a page is wide.
func commandPage(text string) string {
	text = strings.NewReplacer("(rpclab.md)", "(index.md)", "### SEE ALSO", "### See also").Replace(text)
	text = deep.ReplaceAllString(text, "$1")
	return options.ReplaceAllStringFunc(text, func(found string) string {
		parts := options.FindStringSubmatch(found)
		table := strings.Builder{}
		table.WriteString(parts[1] + "| option | meaning |\n|---|---|\n")
		for _, o := range option.FindAllStringSubmatch(parts[2], -1) {
			name := "`" + strings.TrimSpace(o[2]+" "+o[3]) + "`"
			if o[1] != "" {
				name = "`" + o[1] + "`, " + name
			}
			fmt.Fprintf(&table, "| %s | %s |\n", name, cell.Replace(o[4]))
		}
		return table.String()
	})
}
