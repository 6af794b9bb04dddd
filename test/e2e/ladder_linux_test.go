package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/measure"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// TestLadderLimitsServers also checks the bound of each arm and the memory over time.
func TestLadderLimitsServers(t *testing.T) {
	t.Parallel()
	d, _ := quick(t, "ladder")
	for _, a := range d.Arms {
		if a.Calls < 100 || len(a.Errors) > 0 || a.Channel != "per-user" {
			t.Errorf("%s: %d calls over channels %q, errors %v %v; want at least 100 over per-user", a.Name, a.Calls, a.Channel, a.Errors, a.Samples)
		}
		if b := a.Bound; b == nil || b.Binds != "users" || b.ServiceMS != 349.5 || b.Reached <= 0 {
			t.Errorf("%s: the bound is %+v, want users with a service time of 349.5 ms", a.Name, b)
		}
		java := slices.Contains([]string{"rest-blocking", "rest-virtual", "rest-webflux", "grpc-netty", "grpc-servlet"}, a.Name)
		if java != (a.JVM != nil) || java && (a.JVM.Compiling <= 0 || a.JVM.Collecting < 0) {
			t.Errorf("%s: Java virtual machines spent %+v on a call; want compilations of those that run Java alone", a.Name, a.JVM)
		}
		trial := a.Trials[0]
		if !strings.HasPrefix(trial.Limits, "cgroup v") {
			t.Errorf("%s: limits are enforced by %q, want control groups: run the tests as root, with /sys/fs/cgroup writable", a.Name, trial.Limits)
		}
		if m := trial.Memory; m == nil || len(m.Servers) < 2 || m.Servers[0] == 0 {
			t.Errorf("%s: memory over time is %+v, want at least two values", a.Name, m)
		}
		for id, used := range trial.Servers {
			if used.Charged == 0 || used.Charged > 1536<<20 {
				t.Errorf("%s: %s was charged %d bytes, want more than 0 and at most the limit", a.Name, id, used.Charged)
			}
		}
	}
}

// TestAnOOMKilledServerIsReported also checks that a run removes the control groups of an earlier run
// that was killed.
func TestAnOOMKilledServerIsReported(t *testing.T) {
	t.Parallel()
	groups := func(pid int) (found []string) {
		for _, home := range slices.Concat(measure.OwnCgroups("cpu"), measure.OwnCgroups("memory")) {
			dirs, _ := filepath.Glob(filepath.Join(home, fmt.Sprintf("rpclab-servers-%d-*", pid)))
			found = append(found, dirs...)
		}
		return found
	}
	killed := command(t, t.TempDir(), "run", "ladder", "--arms", "grpc-go", "--no-store")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	pid := killed.Process.Pid
	testkit.Await(t, "servers have control groups", func() bool { return len(groups(pid)) > 0 })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()

	s := rpclab(t, "run", "ladder", "--json", "-", "--quick", "--arms", "grpc-go", "--set", "server.memory=48Mi",
		"--set", "workload.orders.articles=100000", "--set", "load.closed.users=50")
	if s.code != 3 && s.code != 0 {
		t.Errorf("exit code %d, want 3 if the only server was killed before the first call, else 0", s.code)
	}
	d := resulttest.Read(t, strings.NewReader(s.stdout))
	reported := false
	for _, warning := range d.Warnings {
		reported = reported || strings.Contains(warning, "was OOMKilled: its memory limit is 48Mi; raise server.memory (rpclab lab up: --memory)")
	}
	if !reported {
		t.Errorf("no warning names the OOMKilled server: %q", d.Warnings)
	}
	if left := groups(pid); len(left) > 0 {
		t.Errorf("the killed run left %v", left)
	}
}
