package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReportsStopAtTheFirstSignal interrupts commands that wait for the end of a document.
func TestReportsStopAtTheFirstSignal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"report", "compare"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pipe, page := filepath.Join(dir, "endless.json"), filepath.Join(dir, "out.md")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{name, pipe, "--md", page}
			if name == "compare" {
				args = append(args, "latest")
			}
			c := command(t, dir, args...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Close()
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
			defer late.Stop()
			_ = c.Wait()
			if code := c.ProcessState.ExitCode(); code != 130 { // -1: killed after a minute
				t.Errorf("after SIGTERM the exit code is %d, want 130", code)
			}
			if left, err := filepath.Glob(filepath.Join(dir, ".rpclab-*")); err != nil || len(left) > 0 {
				t.Errorf("the files %v are left (%v), want none", left, err)
			}
		})
	}
}
