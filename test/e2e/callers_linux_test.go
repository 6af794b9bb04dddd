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

// byFour writes an experiment whose load four callers share.
func byFour(t *testing.T, load string, rounds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "by-four.yaml")
	doc := fmt.Sprintf(`experiment: by-four
question: Do four callers make one load?
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
	d, _ := document(t, byFour(t, "{open: {rate: 401, duration: 1s}}", 2))
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
			t.Errorf("round %d: %d callers made %d of %d calls; 401 were due. Merged they have %+v, the trial %+v",
				trial.Round, len(trial.Callers), calls, trial.Calls, merged, trial.Latency)
		}
		// How well they begin together is a matter of the machine, as that it is said is not.
		if skew := result.Skew(trial.Callers); skew < 0 || skew > 30_000 {
			t.Errorf("round %d: callers began %.1f ms apart", trial.Round, skew)
		}
	}
}

func TestAKilledCallerFailsItsTrial(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := command(t, data, "run", byFour(t, "{open: {rate: 100, duration: 4s}}", 2), "--json", "-")
	var output, said strings.Builder
	c.Stdout, c.Stderr = &output, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var all []int
	testkit.Await(t, "four callers run and are warm", func() bool {
		all = callersOf(c.Process.Pid)
		return len(all) == 4 && busy(all)
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
		t.Fatalf("%d trials, the first failed for %q", len(trials), trials[0].Failed)
	}
	if trials[1].Failed != "" || trials[1].Calls != 400 {
		t.Errorf("the next trial: %d calls, failed %q", trials[1].Calls, trials[1].Failed)
	}
}

// callersOf are the callers among the processes that descend from one.
func callersOf(pid int) (all []int) {
	for _, child := range descendants(pid) {
		if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil && strings.HasSuffix(string(args), "\x00caller\x00") {
			all = append(all, child)
		}
	}
	return all
}

// busy says whether each process has a connection open.
func busy(pids []int) bool {
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
