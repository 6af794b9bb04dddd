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

// fakeCargo makes the program that the build script copies.
const fakeCargo = `mkdir -p "$XDG_CACHE_HOME/rpclab/servers/rust/release" && (cd "$XDG_CACHE_HOME/rpclab/servers/rust/release" && touch rpclab-rust && chmod +x rpclab-rust)`

// built is the directory of the Rust programs that are built from the present sources.
func built(t *testing.T) string {
	t.Helper()
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(commandFile(cache, rust(t)))
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
	cache := isolate(t, map[string]string{"cargo": fakeCargo + `; echo compiling >&2; echo x >> "$XDG_CACHE_HOME/runs"`})
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "rpclab servers build rust") {
		t.Errorf("before the build: error %v, want %v with the command to build", err, ErrNotBuilt)
	}
	for range 2 {
		var log strings.Builder
		command, err := rust(t).Build(t.Context(), nil, &log)
		if err != nil || command[0] != filepath.Join(built(t), "bin", "rpclab-rust") {
			t.Errorf("Build returned %v, error %v; want the release binary; log: %s", command, err, log.String())
		}
	}
	if runs, err := os.ReadFile(filepath.Join(cache, "runs")); err != nil || string(runs) != "x\n" {
		t.Errorf("cargo wrote %q (error %v), want one line: it must run once", runs, err)
	}
	if _, err := rust(t).Command(nil); err != nil {
		t.Error(err)
	}
}

// An upgrade of the system changes the link of a virtual environment to Python, or the file to which it leads.
func TestBuildForAnotherInterpreterIsNotUsed(t *testing.T) {
	isolate(t, map[string]string{"cargo": fakeCargo})
	for _, target := range []string{"/bin/ls", "/usr/bin/python0.1"} {
		command, err := rust(t).Build(t.Context(), nil, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(command[0]), os.Symlink(target, command[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) {
			t.Errorf("a program that is a link to %s now: error %v, want %v", target, err, ErrNotBuilt)
		}
		if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(command[0]); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the build left the link to %s (error %v)", target, err)
		}
	}
}

func TestInterruptedBuildIsNotUsed(t *testing.T) {
	isolate(t, map[string]string{"cargo": fakeCargo})
	left := filepath.Join(built(t), "bin", "left")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o755), os.WriteFile(left, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := rust(t).Command(nil); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("an interrupted build: error %v, want %v", err, ErrNotBuilt)
	}
	if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of the interrupted build is still there (error %v)", err)
	}
}

func TestBuildRemovesOnlyBuildsThatNobodyUses(t *testing.T) {
	cache := isolate(t, map[string]string{"cargo": fakeCargo})
	root := filepath.Join(cache, "rpclab", "servers")
	for name, age := range map[string]time.Duration{"rust-unused": unusedFor + time.Hour, "rust-used": unusedFor - time.Hour} {
		command, at := filepath.Join(root, name, "command"), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(command), 0o755), os.WriteFile(command, nil, 0o644), os.Chtimes(command, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, age := range map[string]time.Duration{"rust-interrupted": unusedFor + time.Hour, "rust-recent": unusedFor - time.Hour, "maven-1": unusedFor + time.Hour} {
		dir, at := filepath.Join(root, name), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "bin"), 0o755), os.Chtimes(dir, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, age := range map[string]time.Duration{"java": unusedFor + time.Hour, "python": unusedFor - time.Hour, "rust": unusedFor + time.Hour} { // of an earlier version
		dir, at := filepath.Join(root, name), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(dir+".command", nil, 0o644), os.Chtimes(dir+".command", at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"java": false, "java.command": false, "python": true, "python.command": true, "rust": true, "rust.command": false} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != kept {
			t.Errorf("%s of an earlier version: error %v, want it kept: %v", name, err, kept)
		}
	}
	for name, kept := range map[string]bool{"rust-interrupted": false, "rust-recent": true, "maven-1": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != kept {
			t.Errorf("%s without a command: error %v, want it kept: %v", name, err, kept)
		}
	}
	for name, kept := range map[string]bool{"rust-unused": false, "rust-used": true, filepath.Base(built(t)): true} {
		if _, err := os.Stat(filepath.Join(root, name, "command")); (err == nil) != kept {
			t.Errorf("%s: error %v, want it kept: %v", name, err, kept)
		}
	}
}

func TestUseKeepsABuild(t *testing.T) {
	isolate(t, map[string]string{"cargo": fakeCargo})
	if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	file, old := filepath.Join(built(t), "command"), time.Now().Add(-unusedFor)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := rust(t).Command(nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("used now, but the last use is %v (error %v)", info.ModTime(), err)
	}
}

// cargo builds again what is newer than its last build.
func TestBuildKeepsTheTimesOfUnchangedSources(t *testing.T) {
	cache := isolate(t, map[string]string{"cargo": fakeCargo})
	build := func() {
		if _, err := rust(t).Build(t.Context(), nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(built(t), "command")); err != nil {
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

// An estimate of 0 bytes would let too many arms start at the same time.
func TestEveryLanguageSaysHowMuchMemoryItUses(t *testing.T) {
	for _, l := range All() {
		if l.Memory == 0 {
			t.Errorf("the memory of a process in %s is not known", l.Name)
		}
	}
}
