package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// ending is the file that decides when a run ends.
const ending = "cmd/rpclab/run.go"

// other are the packages of the program whose changes do not change what is measured, except for ending.
var other = []string{"cmd/rpclab", "deploy", "experiments", "internal/cluster/kubernetes", "internal/image", "internal/report", "internal/suggest", "internal/web"}

// sources are those that measure: the packages of rpclab with the files that they embed, such as the servers in
// other languages, the rule that ends a run, and the versions of other modules.
type sources struct{ sum, commit string }

func readSources() (s sources, err error) {
	files, err := sourceFiles()
	if err != nil {
		return s, err
	}
	hash := sha256.New()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return s, err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	s.sum = fmt.Sprintf("%x", hash.Sum(nil))
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return s, fmt.Errorf("git rev-parse HEAD: %w", err)
	}
	s.commit = strings.TrimSpace(string(head))
	differs := exec.Command("git", append([]string{"diff", "--quiet", "HEAD", "--"}, files...)...).Run()
	var code *exec.ExitError
	switch {
	case errors.As(differs, &code) && code.ExitCode() == 1:
		s.commit += "+"
	case differs != nil:
		return s, fmt.Errorf("git diff: %w", differs)
	}
	return s, nil
}

// sourceFiles are relative to the root of the repository.
func sourceFiles() ([]string, error) {
	const format = `{{range .GoFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "./cmd/rpclab").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: run this in the root of the repository", err)
	}
	files := []string{"go.mod", "go.sum"}
	for line := range strings.Lines(string(out)) {
		file, own := strings.CutPrefix(strings.TrimSpace(line), "rpclab/")
		if own && (file == ending || !slices.ContainsFunc(other, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

// of is the checksum of all that decides what a finding measures.
func (s sources) of(f finding) (string, error) {
	definition, err := f.definition()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", s.sum, strings.Join(f.command(), " "), definition)))[:16], nil
}
