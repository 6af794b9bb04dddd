package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesForOthersHaveNoPaths runs an experiment in a file whose directory has the name of a user.
func TestFilesForOthersHaveNoPaths(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "somebody")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, file := t.TempDir(), filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(good, "rounds: 4", "rounds: 1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	written := func(args ...string) string {
		all, formats := "", []string{"json", "html", "md", "junit", "csv"}
		if args[0] == "report" {
			formats = append(formats, "benchstat", "k6-summary")
		}
		for _, format := range formats {
			path := filepath.Join(data, "out."+format)
			args = append(args, "--"+format, path)
			defer func() {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}()
		}
		if s := rpclabIn(t, data, args...); s.code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, s.code, s.stderr)
		}
		for _, format := range formats {
			text, err := os.ReadFile(filepath.Join(data, "out."+format))
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
		}
		return all
	}
	for _, args := range [][]string{{"run", file}, {"report", "latest"}} {
		if text := written(args...); strings.Contains(text, "somebody") || !strings.Contains(text, "rpclab run …/mine.yaml") {
			t.Errorf("%v: the files contain the directory of the experiment, or not its name", args)
		}
	}
	if text := written("report", "latest", "--keep-paths"); !strings.Contains(text, "rpclab run "+file) {
		t.Errorf("with --keep-paths the files do not contain %s", file)
	}
}
