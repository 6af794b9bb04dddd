package language

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// isolate gives a test its own cache directory, and these shell scripts as programs on PATH.
func isolate(t *testing.T, programs map[string]string) (cache string) {
	t.Helper()
	cache, bin := t.TempDir(), t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	return cache
}

func rust(t *testing.T) Language {
	t.Helper()
	l, err := Lookup("rust")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBuildRunsOnceForTheSameSources(t *testing.T) {
	cache := isolate(t, map[string]string{"cargo": `echo compiling >&2; echo x >> "$XDG_CACHE_HOME/runs"`})
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "rpclab servers build rust") {
		t.Errorf("before the build: error %v, want %v with the command to build", err, ErrNotBuilt)
	}
	for range 2 {
		var log strings.Builder
		command, err := rust(t).Build(t.Context(), nil, &log)
		if err != nil || command[0] != filepath.Join(cache, "rpclab", "servers", "rust", "release", "rpclab-rust") {
			t.Errorf("Build returned %v, error %v; want the release binary; log: %s", command, err, log.String())
		}
	}
	if runs, err := os.ReadFile(filepath.Join(cache, "runs")); err != nil || string(runs) != "x\n" {
		t.Errorf("cargo wrote %q (error %v), want one line: it must run once", runs, err)
	}
	if _, err := rust(t).Command(nil); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "rpclab", "servers", "rust.command"), []byte("checksum of other sources\nprogram\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("with programs from other sources: error %v, want %v", err, ErrNotBuilt)
	}
}

// cargo builds again what is newer than its last build.
func TestBuildKeepsTheTimesOfUnchangedSources(t *testing.T) {
	cache := isolate(t, map[string]string{"cargo": "true"})
	build := func() {
		if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(cache, "rpclab", "servers", "rust.command")); err != nil {
			t.Fatal(err)
		}
	}
	build()
	dir := filepath.Join(cache, "rpclab", "servers", "source", "rust", "servers", "rust")
	unchanged, changed, stale := filepath.Join(dir, "Cargo.lock"), filepath.Join(dir, "Cargo.toml"), filepath.Join(dir, "src", "removed.rs")
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, path := range []string{changed, stale} {
		if err := os.WriteFile(path, []byte("# of another version"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{unchanged, changed} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	build()
	for path, kept := range map[string]bool{unchanged: true, changed: false} {
		if info, err := os.Stat(path); err != nil || info.ModTime().Equal(old) != kept {
			t.Errorf("%s is %v (error %v); want its time kept: %v", path, info, err, kept)
		}
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a removed source still exists (error %v)", err)
	}
}

func TestBuildErrorHasTheOutputOfTheTool(t *testing.T) {
	isolate(t, map[string]string{"cargo": `echo "error[E0308]: mismatched types" >&2; exit 101`})
	if _, err := rust(t).Build(t.Context(), nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "E0308") {
		t.Errorf("error %v, want E0308", err)
	}
}

func TestBuildErrorSaysHowToInstallAMissingTool(t *testing.T) {
	isolate(t, nil)
	if _, err := rust(t).Build(t.Context(), nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "cargo is missing: install Rust") {
		t.Errorf("error %v, want cargo is missing: install Rust", err)
	}
}

func TestLookupSuggestsNames(t *testing.T) {
	if _, err := Lookup("rsut"); err == nil || !strings.Contains(err.Error(), `did you mean "rust"?`) {
		t.Errorf("the language rsut: error %v, want a suggestion of rust", err)
	}
	l, _ := Lookup(Go)
	if _, err := l.Model("rst"); err == nil || !strings.Contains(err.Error(), `did you mean "rest"?`) {
		t.Errorf("the model rst: error %v, want a suggestion of rest", err)
	}
	if m, err := l.Model(""); err != nil || m.Name != "grpc" {
		t.Errorf("the default model is %v (error %v), want grpc", m, err)
	}
}
