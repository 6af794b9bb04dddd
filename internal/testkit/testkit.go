// Package testkit is what tests of several rooms share.
package testkit

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Update makes [Golden] write what it gets instead of comparing it.
var Update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Golden compares text with testdata/name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
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

// Await polls until ok, or fails the test after 20 s.
func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 20 s: %s", what)
}

var build struct {
	sync.Once
	path string
	err  error
}

// Rpclab is the path of the program, built from this tree once a test process.
func Rpclab(t testing.TB) string {
	t.Helper()
	build.Do(func() {
		var dir string
		if dir, build.err = os.MkdirTemp("", "rpclab-test-"); build.err != nil {
			return
		}
		build.path = filepath.Join(dir, "rpclab")
		cmd := exec.Command("go", "build", "-o", build.path, "rpclab/cmd/rpclab")
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if build.err = cmd.Run(); build.err != nil {
			t.Logf("%s", output.String())
		}
	})
	if build.err != nil {
		t.Fatalf("build rpclab: %v", build.err)
	}
	return build.path
}

// Clean removes what Rpclab built; call it when the tests of a package have run.
func Clean() { _ = os.RemoveAll(filepath.Dir(build.path)) }
