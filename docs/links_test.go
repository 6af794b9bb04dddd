// Package docs_test checks the Markdown of the repository.
package docs_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fenced  = regexp.MustCompile("(?ms)^(````?)[^`]*?^````?$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestRelativeLinks follows links to files, and to headings of Markdown files.
func TestRelativeLinks(t *testing.T) {
	checked := 0
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
