package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/result/resulttest"
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

// interruptAt starts a load, interrupts it at a moment, and returns its output when it has ended. It fails if the load ends by
// itself, at the time that early says.
func interruptAt(t *testing.T, c *exec.Cmd, moment <-chan struct{}, early string) string {
	t.Helper()
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-moment:
	case err := <-ended:
		t.Fatalf("the load ended (%v) %s:\n%s", err, early, &output)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	return output.String()
}

// TestAnInterruptedSearchKeepsItsProbes interrupts a search in its second or third probe, all of which hold.
func TestAnInterruptedSearchKeepsItsProbes(t *testing.T) {
	t.Parallel()
	const first = 50 // calls of the first probe, at most
	var calls atomic.Int64
	second := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if calls.Add(1) == first+10 {
			close(second)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "out.json")
	c := command(t, t.TempDir(), "load", "--http", "GET", "--search", "p99 < 10s", "--search-to", "10000", "--duration", "1s", "--no-wait", "--json", file, server.URL)
	output := interruptAt(t, c, second, "in its first probe")
	text, err := os.ReadFile(file)
	if code := c.ProcessState.ExitCode(); code != 130 || err != nil || !strings.Contains(string(text), `"duration_ms": 250`) {
		t.Errorf("exit code %d, the file has %q (%v), want 130 and the probes:\n%s", code, text, err, output)
	}
	said := strings.Join(strings.Fields(output), " ")
	if !strings.Contains(said, " in a short probe, ") && !strings.Contains(said, " generator ") { // was late in the first probe
		t.Errorf("the output does not say what the first probe showed:\n%s", output)
	}
	for _, want := range []string{"interrupted, before a probe of full length", "the result covers the probes that ended"} {
		if !strings.Contains(said, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
}

// TestAnInterruptedRoundOfAServiceIsKept interrupts the first or the second round while one call is in flight.
func TestAnInterruptedRoundOfAServiceIsKept(t *testing.T) {
	t.Parallel()
	for calls, rounds := range map[int64]int{250: 1, 550: 2} {
		var made atomic.Int64
		enough := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if made.Add(1) == calls {
				close(enough)
				<-r.Context().Done()
			}
		}))
		defer server.Close()
		dir := t.TempDir()
		service, file := filepath.Join(dir, "service.yaml"), filepath.Join(dir, "out.json")
		text := "service: t\nserver: {addresses: [\"" + server.Listener.Addr().String() + "\"]}\ncalls: {get: {http: GET, path: /}}\n"
		if err := os.WriteFile(service, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := command(t, t.TempDir(), "load", "--service", service, "--rate", "100", "--duration", "3s", "--rounds", "3", "--warmup", "0", "--no-wait", "--json", file)
		output := interruptAt(t, c, enough, fmt.Sprintf("before %d calls", calls))
		document, err := os.Open(file)
		if err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
		defer document.Close()
		d := resulttest.Read(t, document)
		trials, sum := d.Arms[0].Trials, uint64(0)
		for _, trial := range trials {
			sum += trial.Calls
		}
		last := trials[len(trials)-1]
		answered := int64(sum) - int64(last.Cancelled)
		if len(trials) != rounds || last.Cancelled == 0 || last.Errors["CANCELLED"] != last.Cancelled || answered < calls-1 || answered > made.Load() || last.Latency.Lost > 0 || last.Window != nil && last.ElapsedMS < 3000 {
			t.Errorf("the result has %d rounds and %d calls, %d of them cancelled, of %d; the last: %+v", len(trials), sum, last.Cancelled, made.Load(), last.Measures)
		}
		said := strings.Join(strings.Fields(output), " ")
		for _, want := range []string{") count as CANCELLED, not in the latency", "Show this report again"} {
			if !strings.Contains(said, want) {
				t.Errorf("the output lacks %q:\n%s", want, output)
			}
		}
		if c.ProcessState.ExitCode() != 130 || !d.Partial {
			t.Errorf("exit code %d, partial %t, want 130 and true:\n%s", c.ProcessState.ExitCode(), d.Partial, output)
		}
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
	output := interruptAt(t, c, called, "before its first call")
	text, err := os.ReadFile(file)
	want := "rpclab: no call was measured before the interrupt, so rpclab does not write " + file
	if code := c.ProcessState.ExitCode(); code != 130 || err != nil || string(text) != "an earlier result" || !strings.Contains(output, want) {
		t.Errorf("exit code %d, the file has %q (%v), want 130, the earlier result and %q:\n%s", code, text, err, want, output)
	}
}
