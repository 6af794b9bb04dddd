package process_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"rpclab/internal/process"
)

// holdDir makes a directory with a file in it, says where it is, and waits to be killed.
func holdDir() {
	d, err := process.NewTempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(d.Path, "file"), nil, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(d.Path)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startHolder runs this test's program as one that holds a directory, in this one.
func startHolder(t *testing.T, temp string) (*process.Process, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	p, err := process.Start(process.Spec{Args: []string{self}, Env: []string{"PROCESS_TEST=dir", "TMPDIR=" + temp}, Stdout: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	var path string
	if _, err := fmt.Fscan(out, &path); err != nil {
		t.Fatal(err)
	}
	return p, path
}

func TestTheDirectoryOfAKilledProcessIsRemovedByTheNext(t *testing.T) {
	temp := t.TempDir()
	strange := filepath.Join(temp, "rpclab-1234") // whoever made this has no lock
	if err := os.Mkdir(strange, 0o700); err != nil {
		t.Fatal(err)
	}
	killed, left := startHolder(t, temp)
	alive, kept := startHolder(t, temp)
	killed.Kill()
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the killed one could clean up: %v", err)
	}
	_, own := startHolder(t, temp)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", left, err)
	}
	for _, path := range []string{kept, own, strange} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is another's, and gone: %v", path, err)
		}
	}
	select {
	case <-alive.Done():
		t.Errorf("it ended: %v", alive.Err())
	default:
	}
}

func TestADirectoryIsThereForItsOwnerAloneAndGoesWithRemove(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := process.NewTempDir()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
