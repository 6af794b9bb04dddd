// Package docs_test checks the Markdown of the repository.
package docs_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var (
	fenced  = regexp.MustCompile("(?ms)^(````?)[^`]*?^````?$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestRelativeLinks follows links to files, and to headings of Markdown files. Every picture must be shown.
func TestRelativeLinks(t *testing.T) {
	checked := 0
	linked := map[string]bool{}
	err := filepath.WalkDir("..", func(page string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		// The licences of others are theirs.
		if filepath.Ext(page) != ".md" || entry.Name() == "THIRD_PARTY.md" || entry.Name() == "npm.md" {
			return nil
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(prose(text), -1) {
			target := found[1] + found[2]
			to, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: the link %q is not a URL: %v", page, target, err)
				continue
			}
			if to.Scheme != "" || to.Host != "" {
				continue
			}
			checked++
			file := page
			if to.Path != "" {
				file = filepath.Join(filepath.Dir(page), to.Path)
			}
			linked[file] = true
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %q leads nowhere", page, target)
				continue
			}
			if to.Fragment == "" || filepath.Ext(file) != ".md" {
				continue
			}
			if !anchors(t, file)[to.Fragment] {
				t.Errorf("%s: %s has no heading #%s", page, file, to.Fragment)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 50 {
		t.Errorf("only %d links were checked", checked)
	}
	pictures, err := filepath.Glob("../docs/images/*")
	if err != nil || len(pictures) == 0 {
		t.Errorf("no pictures were found: %v", err)
	}
	for _, picture := range pictures {
		if !linked[picture] {
			t.Errorf("no page shows %s", picture)
		}
	}
}

// prose is a page without its code.
func prose(text []byte) string {
	return code.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "")
}

// anchors are the fragments that GitHub makes of a page's headings.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		name := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1")
		name = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`).ReplaceAllString(strings.ToLower(name), "")
		made[strings.ReplaceAll(strings.TrimSpace(name), " ", "-")] = true
	}
	return made
}

var (
	function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	testRun  = regexp.MustCompile(`go test [^\n]*-run '?([\w|]+)`)
)

// TestNamedTestsExist checks that the tests that pages name, and the patterns of go test -run, exist.
func TestNamedTestsExist(t *testing.T) {
	var functions []string
	pages := map[string]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		page := filepath.Ext(path) == ".md"
		if !page && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if page {
			pages[path] = string(text)
			return err
		}
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			functions = append(functions, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range pages {
		for _, name := range testName.FindAllString(text, -1) {
			if !slices.Contains(functions, name) {
				t.Errorf("%s names the test %s, which does not exist", page, name)
			}
		}
		for _, found := range testRun.FindAllStringSubmatch(text, -1) {
			for pattern := range strings.SplitSeq(found[1], "|") {
				if !slices.ContainsFunc(functions, func(name string) bool { return strings.Contains(name, pattern) }) {
					t.Errorf("%s runs tests that match %q, but no test does", page, pattern)
				}
			}
		}
	}
}
