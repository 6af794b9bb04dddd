package process_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"rpclab/internal/process"
)

// holdTempDir creates a directory with a file, prints its path, and waits to be killed.
func holdTempDir() {
	dir, err := process.NewTempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir.Path, "file"), nil, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(dir.Path)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startHolder runs this test's program with holdTempDir below temp and returns the directory's path.
func startHolder(t *testing.T, temp string) (*process.Process, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	child, err := process.Start(process.Spec{Args: []string{self}, Env: []string{"PROCESS_TEST=dir", "TMPDIR=" + temp}, Stdout: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(child.Kill)
	var path string
	if _, err := fmt.Fscan(out, &path); err != nil {
		t.Fatal(err)
	}
	return child, path
}

func TestTheDirectoryOfAKilledProcessIsRemovedByTheNextProcess(t *testing.T) {
	temp := t.TempDir()
	foreign := filepath.Join(temp, "rpclab-1234") // of another program, without a lock
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	killed, left := startHolder(t, temp)
	alive, kept := startHolder(t, temp)
	killed.Kill()
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the killed process removed its directory: %v", err)
	}
	_, own := startHolder(t, temp)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s of the killed process still exists (%v), want it removed", left, err)
	}
	for _, path := range []string{kept, own, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was removed although its owner was not killed: %v", path, err)
		}
	}
	select {
	case <-alive.Done():
		t.Errorf("the process that was not killed ended: %v", alive.Err())
	default:
	}
}

func TestATempDirIsPrivateAndRemoveDeletesIt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := process.NewTempDir()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v; want mode 0700", info, err)
	}
	if err := dir.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("after Remove there are %v, want nothing", left)
	}
}

func TestATempDirInADirectoryReplacesWhatAKilledProcessLeftThere(t *testing.T) {
	parent := t.TempDir()
	left := filepath.Join(parent, "rpclab-run-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := process.NewTempDirIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	if all, _ := filepath.Glob(filepath.Join(parent, "*")); len(all) != 1 || all[0] != dir.Path {
		t.Errorf("%s contains %v, want %s only", parent, all, dir.Path)
	}
	if err := dir.Remove(); err != nil {
		t.Fatal(err)
	}
}
