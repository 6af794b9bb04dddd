//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// harness is a started command of the program.
type harness struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// besideAnother starts commands while another harness works, and returns when they wait for it. done ends the work of the other.
func besideAnother(t *testing.T, commands ...[]string) (started []harness, done func()) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(asProgram, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, done, err = cacheDirectory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		h := harness{t, exec.Command(self, args...), log.Name(), make(chan struct{})}
		h.cmd.Stderr = log
		if err := h.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.cmd.Process.Kill() }) // it has ended already unless the test fails
		go func() { defer close(h.ended); _ = h.cmd.Wait() }()
		started = append(started, h)
		testkit.Await(t, strings.Join(args, " ")+" waits", func() bool { return strings.Contains(h.said(), "waiting for another harness") })
	}
	return started, done
}

func (h harness) said() string {
	text, err := os.ReadFile(h.log)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// end returns what the command said when it has ended.
func (h harness) end() string {
	h.t.Helper()
	testkit.Await(h.t, strings.Join(h.cmd.Args, " ")+" ends", func() bool {
		select {
		case <-h.ended:
			return true
		default:
			return false
		}
	})
	return h.said()
}

func TestAnInterruptEndsTheWaitForAnotherHarness(t *testing.T) {
	started, done := besideAnother(t, []string{"up"}, []string{"with", "--", "true"}, []string{"down"}, []string{"build"}, []string{"helm"})
	defer done()
	for _, h := range started {
		if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if said := h.end(); h.cmd.ProcessState.Success() {
			t.Errorf("%q succeeded after an interrupt:\n%s", h.cmd.Args[1:], said)
		}
	}
}

func TestShapesThatNoClusterCanHaveAreRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for want, as := range map[string]shape{
		"--nodes 0: use 1 to":                       {0, 100},
		"--endpoints-per-slice 0: use 1 to 1000":    {1, 0},
		"--endpoints-per-slice 1001: use 1 to 1000": {1, 1001},
	} {
		if _, _, err := up(t.Context(), testName, as, bound); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", as, err, want)
		}
	}
}

// TestAStartLeavesTheClusterOfAnother has a process in the place of a cluster, which another harness starts while two
// commands wait.
func TestAStartLeavesTheClusterOfAnother(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	started, done := besideAnother(t,
		[]string{"with", "--name", testName, "--nodes", "1", "--", "touch", ran},
		[]string{"with", "--name", testName, "--nodes", "3", "--", "touch", ran},
		[]string{"up", "--name", testName, "--nodes", "1", "--endpoints-per-slice", "10"})
	supervisor := exec.Command("sleep", "600")
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = supervisor.Process.Kill(); _ = supervisor.Wait() }()
	dir, err := directory(testName)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cluster := state{Supervisor: processOf(supervisor.Process.Pid), Nodes: make([]running, 1), EndpointsPerSlice: 100, Ready: true}
	if err := cluster.write(dir); err != nil {
		t.Fatal(err)
	}
	done()
	for i, want := range []string{"already runs", "runs with 1 nodes, not 3", "runs with 100 endpoints per slice, not 10"} {
		if said := started[i].end(); !strings.Contains(said, want) {
			t.Errorf("%q said\n%s\nwant %q", started[i].cmd.Args[1:], said, want)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command ran on the cluster of another start")
	}
	if _, _, err := readyState(testName); err != nil {
		t.Errorf("the cluster of the other start ended: %v", err)
	}
}
