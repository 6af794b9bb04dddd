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

// alone gives a test a cache of its own and these programs on PATH, as shell scripts.
func alone(t *testing.T, programs map[string]string) (cache string) {
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

func TestALanguageIsBuiltOnceForTheSameSources(t *testing.T) {
	cache := alone(t, map[string]string{"cargo": `echo compiling >&2; echo x >> "$XDG_CACHE_HOME/runs"`})
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "rpclab servers build rust") {
		t.Errorf("before it is built: %v", err)
	}
	for range 2 {
		var log strings.Builder
		command, err := rust(t).Build(t.Context(), nil, &log)
		if err != nil || command[0] != filepath.Join(cache, "rpclab", "servers", "rust", "release", "rpclab-rust") {
			t.Errorf("built: %v, %v; %s", command, err, log.String())
		}
	}
	if runs, err := os.ReadFile(filepath.Join(cache, "runs")); err != nil || string(runs) != "x\n" {
		t.Errorf("cargo ran so often: %q, %v", runs, err)
	}
	if _, err := rust(t).Command(nil); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "rpclab", "servers", "rust.command"), []byte("of other sources\nprogram\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("of other sources: %v", err)
	}
}

// cargo builds again what is younger than its last build.
func TestSourcesThatDidNotChangeKeepTheirTimes(t *testing.T) {
	cache := alone(t, map[string]string{"cargo": "true"})
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
	same, other, stale := filepath.Join(dir, "Cargo.lock"), filepath.Join(dir, "Cargo.toml"), filepath.Join(dir, "src", "gone.rs")
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, path := range []string{other, stale} {
		if err := os.WriteFile(path, []byte("# of another version"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{same, other} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	build()
	for path, kept := range map[string]bool{same: true, other: false} {
		if info, err := os.Stat(path); err != nil || info.ModTime().Equal(long) != kept {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a source that there is no more is left: %v", err)
	}
}

func TestABuildThatFailsSaysWhatTheToolSaid(t *testing.T) {
	alone(t, map[string]string{"cargo": `echo "error[E0308]: mismatched types" >&2; exit 101`})
	if _, err := rust(t).Build(t.Context(), nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "E0308") {
		t.Errorf("it says %v", err)
	}
}

func TestAToolThatIsMissingIsNamedWithHowToGetIt(t *testing.T) {
	alone(t, nil)
	if _, err := rust(t).Build(t.Context(), nil, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "cargo is missing: install Rust") {
		t.Errorf("it says %v", err)
	}
}

func TestNamesThatAreNotThereGetASuggestion(t *testing.T) {
	if _, err := Lookup("rsut"); err == nil || !strings.Contains(err.Error(), `did you mean "rust"?`) {
		t.Errorf("the language: %v", err)
	}
	l, _ := Lookup(Go)
	if _, err := l.Model("rst"); err == nil || !strings.Contains(err.Error(), `did you mean "rest"?`) {
		t.Errorf("the model: %v", err)
	}
	if m, err := l.Model(""); err != nil || m.Name != "grpc" {
		t.Errorf("the first model is %v, %v", m, err)
	}
}
