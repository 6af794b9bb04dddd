package local

import (
	"os"
	"path/filepath"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// A backend outlives a child that the kernel kills.
func TestAKillAtTheMemoryLimitIsReportedOnce(t *testing.T) {
	dir := t.TempDir() // with a file of cgroup v2
	kills := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte("oom_kill "+text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &replica{id: "greeter-0", process: run(t, "sleep", "60"), limits: limits{group: measure.Cgroup{CPU: dir, Memory: dir}, memory: 4 << 20}}
	d := &deployment{account: cluster.NewAccounting(), replicas: []*replica{r}}
	check := func(when string, want int) {
		t.Helper()
		if failures := d.Failures(); len(failures) != want {
			t.Errorf("%s the failures are %q, want %d", when, failures, want)
		}
	}
	kills("1")
	check("after a kill", 1)
	if err := d.ResetUsage(); err != nil {
		t.Fatal(err)
	}
	check("in the next load", 0)
	kills("2")
	check("after another kill", 1)
}
