// Legal writes THIRD_PARTY.md: every module that is linked into rpclab, its version, its licence
// and the text that the licence asks to be passed on.
//
//	go run ./legal
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const page = "THIRD_PARTY.md"

func main() {
	text, err := thirdParty(".")
	if err == nil {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "legal:", err)
		os.Exit(1)
	}
}

// module is one module of the binary. Its files are the licences and notices that apply to the
// packages which are linked, by their path in the module.
type module struct {
	path, version string
	files         map[string]string
}

// systems are those that rpclab is built for; a package may be linked on one of them only.
var systems = []string{"linux", "darwin"}

// thirdParty is the page for the sources in root.
func thirdParty(root string) ([]byte, error) {
	modules, err := linked(root)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("# Third-party licences\n\nThe program `rpclab` contains the Go standard library and these modules. " +
		"`go run ./legal` writes this page; a test compares it with what is linked.\n" +
		"The charts of reports contain the npm packages in [legal/npm.md](legal/npm.md).\n\n" +
		"| module | version | licence |\n|---|---|---|\n")
	users := map[string][]string{} // by text
	for _, m := range modules {
		names := []string{}
		for _, file := range sorted(m.files) {
			text := m.files[file]
			users[text] = append(users[text], m.path)
			if notice.MatchString(filepath.Base(file)) {
				continue
			}
			kind := licence(text)
			if kind == "" {
				return nil, fmt.Errorf("%s: the licence in %s is not one that this program knows", m.path, file)
			}
			if !slices.Contains(names, kind) {
				names = append(names, kind)
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no licence", m.path)
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", m.path, m.version, strings.Join(names, ", "))
	}
	out.WriteString("\n## Texts\n")
	for _, text := range slices.SortedFunc(maps.Keys(users), func(a, b string) int { return cmp.Compare(users[a][0]+a, users[b][0]+b) }) {
		fmt.Fprintf(&out, "\n### %s\n\n````text\n%s\n````\n", strings.Join(slices.Compact(users[text]), ", "), text)
	}
	return out.Bytes(), nil
}

// linked are the modules of cmd/rpclab on every system, and the standard library, by path.
func linked(root string) ([]module, error) {
	found := map[string]*module{"std": {path: "Go standard library", files: map[string]string{}}}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	home := strings.TrimSpace(string(goroot))
	if err := found["std"].read(home, home); err != nil {
		return nil, err
	}
	for _, system := range systems {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/rpclab")
		list.Dir = root
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		list.Stderr = os.Stderr
		lines, err := list.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(lines)) {
			field := strings.Split(strings.TrimSpace(line), "\t")
			if len(field) != 4 {
				continue
			}
			m := found[field[0]]
			if m == nil {
				m = &module{path: field[0], version: field[1], files: map[string]string{}}
				found[field[0]] = m
			}
			if err := m.read(field[2], field[3]); err != nil {
				return nil, err
			}
		}
	}
	modules := []module{}
	for _, path := range sorted(found) {
		modules = append(modules, *found[path])
	}
	return modules, nil
}

var (
	legal  = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(-\w+|-3rd-party)*(\.txt|\.md|\.libyaml)?$`)
	notice = regexp.MustCompile(`(?i)^notice|3rd-party`)
	// A logo and documentation are no part of a program.
	elsewhere = regexp.MustCompile(`(?i)logo|\.docs$`)
)

// read collects the legal texts from the package's directory up to the module's.
func (m *module) read(top, dir string) error {
	for ; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.IsDir() || !legal.MatchString(entry.Name()) || elsewhere.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(top, filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			m.files[filepath.ToSlash(name)] = tidy(string(text))
		}
	}
	return nil
}

// tidy makes equal texts equal bytes: no carriage returns, no spaces at ends of lines.
func tidy(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// licence is the SPDX identifier of a text, or the identifiers where one text holds several.
func licence(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	found := []string{}
	for _, known := range []struct{ id, says string }{
		{"Apache-2.0", "(?i)apache license,? version 2.0|http://www.apache.org/licenses/LICENSE-2.0"},
		{"MIT", "(?i)permission is hereby granted, free of charge"},
		{"BSD-3-Clause", "(?i)redistribution and use in source and binary forms.*(neither the name|names? of .* may not be used to endorse)"},
		{"ISC", "(?i)permission to use, copy, modify, and/or distribute|permission to use, copy, modify, and distribute"},
		{"MPL-2.0", "(?i)mozilla public license,? version 2.0"},
	} {
		if regexp.MustCompile(known.says).MatchString(flat) {
			found = append(found, known.id)
		}
	}
	if !slices.Contains(found, "BSD-3-Clause") && regexp.MustCompile("(?i)redistribution and use in source and binary forms").MatchString(flat) {
		found = append(found, "BSD-2-Clause")
	}
	return strings.Join(found, " and ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
