package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// TestSIGHUPInterruptsARun closes the output and sends SIGHUP twice: a closing terminal and its shell
// each send one.
func TestSIGHUPInterruptsARun(t *testing.T) {
	t.Parallel()
	handleSIGHUP(t)
	data := t.TempDir()
	c := command(t, data, long...)
	unread, terminal, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	c.Stdout, c.Stderr = terminal, terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	testkit.Await(t, "a trial is stored, and servers and a caller run", func() bool {
		return someOf50.MatchString(rpclabIn(t, data, "runs").stdout) && len(descendants(c.Process.Pid)) >= 4
	})
	children := descendants(c.Process.Pid)
	unread.Close()
	for range 2 {
		if err := c.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "the run has received SIGHUP", func() bool { return ignores(c.Process.Pid, syscall.SIGHUP) || !alive(c.Process.Pid) })
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d (%s), want 130", code, c.ProcessState)
	}
	for _, pid := range children {
		if alive(pid) {
			t.Errorf("process %d outlived the terminal", pid)
		}
	}
	if s := rpclabIn(t, data, "report", "latest"); s.code != 0 || !strings.Contains(s.stdout, "of 50 trials") {
		t.Errorf("exit code %d; the report is\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// The reader of the output may end before the run, as in `rpclab run NAME 2>&1 | head -1`.
func TestARunWithoutAReaderCompletes(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "out.json")
	c := command(t, data, "run", "channels", "--arms", "shared", "--rounds", "2", "-v", "--json", file, "--assert", "errors > 0",
		"--set", "load={open: {rate: 50, duration: 500ms}}")
	read, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c.Stdout, c.Stderr = pipe, pipe
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	if _, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	read.Close()
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d (%s), want 1, which is that of the assertion", code, c.ProcessState)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := resulttest.Read(t, bytes.NewReader(text)); d.Partial || len(d.Arms[0].Trials) != 2 {
		t.Errorf("the result is partial: %t, and has %d trials, want 2", d.Partial, len(d.Arms[0].Trials))
	}
}

func TestNohupIgnoresSIGHUP(t *testing.T) {
	t.Parallel()
	handleSIGHUP(t)
	plain := command(t, t.TempDir(), "server", "--listen", "127.0.0.1:0")
	for _, nohup := range []bool{false, true} {
		c := exec.Command(plain.Path, plain.Args[1:]...)
		if nohup {
			c = exec.Command("nohup", plain.Args...)
		}
		said, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		c.Stderr = said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Process.Kill()
		testkit.Await(t, "the server is serving", func() bool {
			text, _ := os.ReadFile(said.Name())
			return bytes.Contains(text, []byte("serving"))
		})
		if ignored := ignores(c.Process.Pid, syscall.SIGHUP); ignored != nohup {
			t.Errorf("under nohup: %t; SIGHUP ignored: %t; want both alike", nohup, ignored)
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
	}
}

// handleSIGHUP makes sure that child processes do not inherit an ignored SIGHUP if the test runs under
// nohup: a handled signal is not ignored in a child.
func handleSIGHUP(t *testing.T) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(signals) })
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, s syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "SigIgn:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, _ := strconv.ParseUint(mask, 16, 64)
	return bits&(1<<(uint(s)-1)) != 0
}
