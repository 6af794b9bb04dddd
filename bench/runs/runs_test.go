package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestAFailedRunSaysWhy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rpclab")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho the reason >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := (&Program{Path: path}).Run("channels", 7)
	if err == nil || !strings.Contains(err.Error(), "channels, run 7: exit status 3\nthe reason") {
		t.Errorf("error %v, want the run, its exit code and its reason", err)
	}
}
