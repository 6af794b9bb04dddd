// Package testkit holds helpers for the tests of several packages.
package testkit

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// Update makes [Golden] write files instead of comparing with them.
var Update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Golden compares text with testdata/name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	GoldenFile(t, filepath.Join("testdata", name), got)
}

// GoldenFile compares text with a file.
func GoldenFile(t *testing.T, path, got string) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it with: go test . -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if it should: go test . -update\n%s", path, diff)
	}
}

// Await polls until ok, or fails the test after a minute.
func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	AwaitFor(t, time.Minute, what, ok)
}

// AwaitFor polls until ok, or fails the test after so long. It pauses four times as long as a check took, between 5 ms and
// 1 s, so that checks that start a program leave the processors to what they wait for.
func AwaitFor(t *testing.T, long time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(long)
	for began := time.Now(); began.Before(end); began = time.Now() {
		if ok() {
			return
		}
		<-time.After(min(max(4*time.Since(began), 5*time.Millisecond), time.Second))
	}
	t.Fatalf("not within %s: %s", long, what)
}

var build struct {
	sync.Once
	path string
	err  error
}

// program names a program that is built already: by make test for all its stages, by make check, and by
// a test process for those that it starts. make check also sets its checksum: go test repeats a test
// when a variable that the test read has changed.
const (
	program  = "RPCLAB_TEST_PROGRAM"
	checksum = "RPCLAB_TEST_CHECKSUM"
)

// Rpclab returns the path of the program, which it builds once in each test process.
func Rpclab(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(program); path != "" {
		_ = os.Getenv(checksum)
		return path
	}
	build.Do(func() {
		var dir string
		if dir, build.err = os.MkdirTemp("", "rpclab-test-"); build.err != nil {
			return
		}
		// A test may run the program as another user.
		if build.err = os.Chmod(dir, 0o755); build.err != nil {
			return
		}
		build.path = filepath.Join(dir, "rpclab")
		cmd := exec.Command("go", "build", "-o", build.path, "rpclab/cmd/rpclab")
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if build.err = cmd.Run(); build.err != nil {
			t.Logf("%s", output.String())
			return
		}
		build.err = os.Setenv(program, build.path)
	})
	if build.err != nil {
		t.Fatalf("build rpclab: %v", build.err)
	}
	return build.path
}

// Tool returns the path of a program on PATH or among those that make test-tools installs.
func Tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return Cached(t, "dashboards", name)
}

// Cached returns the path of what make test-tools put into this part of the cache.
func Cached(t *testing.T, part, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "rpclab", part, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is missing; install it with: make test-tools", name)
	}
	return path
}

// Main runs the tests of a package that uses [Rpclab], then what closes their resources. It removes
// the program and fails if a goroutine is left. Runs that the tests start do not wait for each other, and have
// no defaults of the user's.
// Call it from TestMain.
func Main(m *testing.M, closing ...func()) {
	_ = os.Setenv("RPCLAB_MACHINE_LOCK", "off") // the names are valid
	_ = os.Setenv("RPCLAB_CONFIG", os.DevNull)
	code := m.Run()
	for _, closes := range closing {
		closes()
	}
	if build.path != "" {
		_ = os.RemoveAll(filepath.Dir(build.path))
	}
	err := goleak.Find()
	for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); { // goroutines that are closing need some time
		err = goleak.Find()
	}
	if code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
