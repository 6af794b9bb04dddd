package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThePageListsTheVariablesThatTheCodeReads compares the table of docs/settings.md with the code of the program.
func TestThePageListsTheVariablesThatTheCodeReads(t *testing.T) {
	variable, code := regexp.MustCompile(`\b(?:RPCLAB|OTEL)_[A-Z_]+`), map[string]bool{}
	for _, dir := range []string{"../cmd/rpclab", "../internal", "../client"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testkit/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range variable.FindAllString(string(text), -1) {
				code[name] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:RPCLAB|OTEL)_[A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(code)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("docs/settings.md lists other variables (+) than the code reads (-):\n%s", diff)
	}
}
