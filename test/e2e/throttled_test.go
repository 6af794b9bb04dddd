package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/result/resulttest"
)

// TestAThrottledRunGetsNoVerdict runs in a control group with a quota of a third of one CPU. Its arms
// differ a lot, but the verdicts must be undecided because of the throttling.
func TestAThrottledRunGetsNoVerdict(t *testing.T) {
	group := quota(t, 33)
	file := filepath.Join(t.TempDir(), "busy.yaml")
	if err := os.WriteFile(file, []byte(`
experiment: busy
question: Are 30 callers slower than one?
defaults: {workload: {greet: {}}, server: {replicas: 1, fresh: false}, route: direct}
arms:
  one: {load: {closed: {users: 1, calls: 1500}}}
  thirty: {load: {closed: {users: 30, calls: 1500}}}
rounds: 4
`), 0o644); err != nil {
		t.Fatal(err)
	}
	inside := command(t, t.TempDir(), "run", file, "--no-store", "--json", "-")
	// The shell joins the group and then becomes the program, so all children are in the group too.
	inside.Args = append([]string{"sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(group, "cgroup.procs")}, inside.Args...)
	inside.Path = "/bin/sh"
	out, err := inside.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := resulttest.Read(t, strings.NewReader(string(out)))
	headline := 0
	for _, v := range d.Verdicts {
		if v.Secondary {
			continue
		}
		headline++
		if v.Decision != "undecided" || !strings.Contains(v.Reason, "throttled") {
			t.Errorf("%s: decision %s (ratio %.2f), reason %q; want undecided because of throttling", v.Metric, v.Decision, v.Ratio, v.Reason)
		}
	}
	if headline == 0 {
		t.Error("there is no verdict on a headline metric")
	}
	for _, a := range d.Arms {
		// A trial lasts many periods of the quota, so every trial is throttled.
		for _, trial := range a.Trials {
			if trial.Machine.Throttled < 0.05 {
				t.Errorf("%s was throttled for a share of %.3f in round %d, want at least 0.05", a.Name, trial.Machine.Throttled, trial.Round)
			}
		}
	}
}

// quota creates a control group with a quota in percent of one CPU.
func quota(t *testing.T, percent int) string {
	t.Helper()
	const root, period = "/sys/fs/cgroup", 100_000
	parent, limit := root, map[string]string{"cpu.max": strconv.Itoa(percent*period/100) + " " + strconv.Itoa(period)} // version 2
	if _, err := os.Stat(filepath.Join(root, "cpu")); err == nil {
		parent, limit = filepath.Join(root, "cpu"), map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": strconv.Itoa(percent * period / 100)}
	}
	group, err := os.MkdirTemp(parent, "rpclab-test-")
	if err != nil {
		t.Fatalf("make a control group: %v; run the tests as root, with %s writable", err, parent)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	for name, value := range limit {
		if err := os.WriteFile(filepath.Join(group, name), []byte(value), 0); err != nil {
			t.Fatalf("limit the control group: %v; enable its controller cpu", err)
		}
	}
	return group
}
