package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

// long are the arguments of a run that lasts until a test ends it.
var long = []string{
	"run", "channels", "--arms", "shared", "--rounds", "50",
	"--set", "load={open: {rate: 50, duration: 2s}}", "--set", "workload.greet.delay=1ms",
}

var someOf50 = regexp.MustCompile(`\b[1-9]\d* of 50\b`)

// start starts the program, and returns when one trial is stored and another runs.
func start(t *testing.T, data string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c := command(t, data, args...)
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the program:\n%s", &output)
		}
	})
	testkit.Await(t, "a trial is stored, and servers and a caller run", func() bool {
		return someOf50.MatchString(rpclabIn(t, data, "runs").stdout) && len(descendants(c.Process.Pid)) >= 4
	})
	return c, &output
}

// descendants returns the children of a process, their children, and so on.
func descendants(pid int) []int {
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name may contain spaces
		fields := strings.Fields(rest)
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if len(fields) > 1 && fields[0] != "Z" {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	var all []int
	for child := range parents {
		for up := parents[child]; up > 1; up = parents[up] {
			if up == pid {
				all = append(all, child)
				break
			}
		}
	}
	return all
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestAKilledRunLeavesNoProcessAndKeepsItsTrials(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := start(t, data, long...)
	children := descendants(c.Process.Pid)
	// A stopped server cannot notice that its input ended, so the kernel must kill it.
	for _, pid := range children {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) { // its trial may be over
			t.Fatal(err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	for _, pid := range children {
		testkit.Await(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
	if s := rpclabIn(t, data, "runs"); !strings.Contains(s.stdout, "interrupted") {
		t.Errorf("rpclab runs does not list the run as interrupted:\n%s", s.stdout)
	}
	s := rpclabIn(t, data, "report", "latest")
	if s.code != 0 || !strings.Contains(s.stdout, "shared") || !strings.Contains(s.stdout, "of 50 trials") {
		t.Errorf("exit code %d; the report of a killed run is\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestAnInterruptedRunCleansUpAndReports(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, output := start(t, data, long...)
	children := descendants(c.Process.Pid)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	for _, pid := range children {
		if alive(pid) {
			t.Errorf("process %d outlived the interrupt", pid)
		}
	}
	if !strings.Contains(output.String(), "of 50 trials") {
		t.Errorf("the output does not contain \"of 50 trials\":\n%s", output)
	}
	s := rpclabIn(t, data, "report", "latest")
	if s.code != 0 || !strings.Contains(s.stdout, "of 50 trials") {
		t.Errorf("exit code %d; the report of an interrupted run is\n%s%s", s.code, s.stdout, s.stderr)
	}
}
