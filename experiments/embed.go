// Package experiments holds the built-in experiments of rpclab.
package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"rpclab/internal/suggest"
)

//go:embed *.yaml
var files embed.FS

// Names lists the built-in experiments, sorted.
func Names() []string {
	paths, _ := fs.Glob(files, "*.yaml") // the pattern is well-formed: no error
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(path, ".yaml")
	}
	return names
}

// Open returns a built-in experiment and its file name for error messages.
func Open(name string) (file string, doc []byte, err error) {
	if !slices.Contains(Names(), name) {
		return "", nil, fmt.Errorf("no built-in experiment %q%s (a file's name has a slash or ends in .yaml)",
			name, suggest.DidYouMean(name, Names()))
	}
	file = name + ".yaml"
	doc, err = files.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("built-in experiment %s: %w", name, err)
	}
	return "experiments/" + file, doc, nil
}
