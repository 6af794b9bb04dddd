package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// fourCallers writes an experiment whose load four callers share.
func fourCallers(t *testing.T, load string, rounds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "four-callers.yaml")
	doc := fmt.Sprintf(`experiment: four-callers
question: Do four callers share one load?
defaults:
  workload: {greet: {delay: 1ms}}
  server: {replicas: 2}
  callers: 4
  load: %s
arms:
  all: {route: endpointslice}
rounds: %d
`, load, rounds)
	if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFourCallersShareALoad(t *testing.T) {
	t.Parallel()
	d, _ := document(t, fourCallers(t, "{open: {rate: 401, duration: 1s}}", 2))
	for _, trial := range arm(t, d, "all").Trials {
		var calls uint64
		var latencies []result.Histogram
		for _, c := range trial.Callers {
			calls += c.Calls
			latencies = append(latencies, c.Latency)
		}
		merged, err := result.Merge(latencies)
		if err != nil {
			t.Fatal(err)
		}
		if len(trial.Callers) != 4 || calls != 401 || trial.Calls != 401 || merged != trial.Latency {
			t.Errorf("round %d: %d callers made %d calls and the trial has %d, want 4 callers and 401 calls; merged latency %+v, of the trial %+v",
				trial.Round, len(trial.Callers), calls, trial.Calls, merged, trial.Latency)
		}
		// A busy machine may start callers far apart, so the test only checks that the time is recorded.
		if skew := result.Skew(trial.Callers); skew < 0 || skew > 30_000 {
			t.Errorf("round %d: callers started %.1f ms apart, want 0 to 30,000", trial.Round, skew)
		}
	}
}

func TestAKilledCallerFailsItsTrial(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := command(t, data, "run", fourCallers(t, "{open: {rate: 25, duration: 16s}}", 2), "--json", "-")
	var output, said strings.Builder
	c.Stdout, c.Stderr = &output, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var all []int
	testkit.Await(t, "four callers have connections", func() bool {
		all = callersOf(c.Process.Pid)
		return len(all) == 4 && connected(all)
	})
	if err := syscall.Kill(all[2], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	trials := arm(t, resulttest.Read(t, strings.NewReader(output.String())), "all").Trials
	death := regexp.MustCompile(`^caller \d of 4 \(caller-\d\) died.*: signal: killed`)
	if len(trials) != 2 || !death.MatchString(trials[0].Failed) {
		t.Fatalf("%d trials, the first with the failure %q; want 2 and one that names the killed caller", len(trials), trials[0].Failed)
	}
	if trials[1].Failed != "" || trials[1].Calls != 400 {
		t.Errorf("the next trial has %d calls and the failure %q, want 400 and none", trials[1].Calls, trials[1].Failed)
	}
}

// callersOf returns the caller processes among the descendants of a process.
func callersOf(pid int) (all []int) {
	for _, child := range descendants(pid) {
		if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil && strings.HasSuffix(string(args), "\x00caller\x00") {
			all = append(all, child)
		}
	}
	return all
}

// connected reports whether each process has an open connection.
func connected(pids []int) bool {
	for _, pid := range pids {
		sockets := 0
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "socket:") {
				sockets++
			}
		}
		if sockets == 0 {
			return false
		}
	}
	return true
}
