package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page offers a load on a service under the name load.
func TestAnExperimentThatThePageOffersCannotHaveTheNameOfALoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "load.yaml")
	if err := os.WriteFile(file, []byte("experiment: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := serveFlags{files: []string{file}}.experiments()
	if want := "the name load is taken; rename the file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want that %s", err, want)
	}
}
