package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/measure"
	"rpclab/internal/testkit"
)

// TestLadderLimitsServers and says what bounds each arm, with the memory over time.
func TestLadderLimitsServers(t *testing.T) {
	t.Parallel()
	d, _ := quick(t, "ladder")
	for _, a := range d.Arms {
		if a.Calls < 100 || len(a.Errors) > 0 || a.Channel != "per-user" {
			t.Errorf("%s: %d calls over channels %s, errors %v %v", a.Name, a.Calls, a.Channel, a.Errors, a.Samples)
		}
		if b := a.Bound; b == nil || b.Binds != "users" || b.ServiceMS != 349.5 || b.Reached <= 0 {
			t.Errorf("%s: the bound is %+v", a.Name, b)
		}
		trial := a.Trials[0]
		if !strings.HasPrefix(trial.Limits, "cgroup v") {
			t.Errorf("%s: limits are kept by %q: run the tests as root, with /sys/fs/cgroup writable", a.Name, trial.Limits)
		}
		if m := trial.Memory; m == nil || len(m.Servers) < 2 || m.Servers[0] == 0 {
			t.Errorf("%s: memory over time is %+v", a.Name, m)
		}
		for id, used := range trial.Servers {
			if used.Charged == 0 || used.Charged > 1536<<20 {
				t.Errorf("%s: %s was charged %d bytes", a.Name, id, used.Charged)
			}
		}
	}
}

// TestAnOOMKilledServerIsReported, and so is what to do. The run after one that was
// killed removes what that one left of control groups.
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
	_ = killed.Wait() // it was killed

	d, _ := document(t, "ladder", "--quick", "--arms", "grpc-go", "--set", "server.memory=48Mi",
		"--set", "workload.orders.articles=100000", "--set", "load.closed.users=50")
	named := false
	for _, warning := range d.Warnings {
		named = named || strings.Contains(warning, "was OOMKilled: its memory limit is 48Mi; raise server.memory")
	}
	if !named {
		t.Errorf("it warns of %q", d.Warnings)
	}
	if left := groups(pid); len(left) > 0 {
		t.Errorf("the killed run left %v", left)
	}
}
