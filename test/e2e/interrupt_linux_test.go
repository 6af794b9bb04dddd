package e2e

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/testkit"
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
			var writer *os.File
			testkit.Await(t, name+" opens the pipe", func() bool {
				var err error
				writer, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0) // an error without a reader
				return err == nil
			})
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

// TestAnInterruptBeforeTheFirstMeasuredCallKeepsTheFile interrupts a load in its warm-up.
func TestAnInterruptBeforeTheFirstMeasuredCallKeepsTheFile(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(file, []byte("an earlier result"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, t.TempDir(), "load", "--http", "GET", "--warmup", "1", "-c", "1", "-n", "5", "--no-wait", "--json", file, server.URL)
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-called:
	case err := <-ended:
		t.Fatalf("the load ended (%v) before its first call:\n%s", err, &output)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	text, err := os.ReadFile(file)
	want := "rpclab: no call was measured before the interrupt, so rpclab does not write " + file
	if code := c.ProcessState.ExitCode(); code != 130 || err != nil || string(text) != "an earlier result" || !strings.Contains(output.String(), want) {
		t.Errorf("exit code %d, the file has %q (%v), want 130, the earlier result and %q:\n%s", code, text, err, want, &output)
	}
}
