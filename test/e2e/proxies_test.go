package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

// through writes an experiment with 50 trials on one route.
func through(t *testing.T, route string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "through.yaml")
	doc := fmt.Sprintf(`experiment: through
question: What does a proxy cost?
defaults:
  workload: {greet: {delay: 1ms}}
  server: {replicas: 2, fresh: false}
  route: direct
  load: {open: {rate: 50, duration: 2s}}
arms:
  through: {route: %s}
rounds: 50
`, route)
	if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAMissingProxyIsReportedBeforeTheRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := command(t, data, "run", through(t, "envoy"))
	c.Env = append(c.Env, "PATH=", "RPCLAB_TOOLS_DIR="+t.TempDir())
	output, _ := c.CombinedOutput()
	const want = "rpclab: for through: envoy is not installed: install it with: rpclab doctor --install envoy\n"
	if code := c.ProcessState.ExitCode(); code != 3 || string(output) != want {
		t.Errorf("exit code %d, said %q; want 3, %q", code, output, want)
	}
	if s := rpclabIn(t, data, "runs"); strings.Contains(s.stdout, "through") {
		t.Errorf("the store has a run, want none:\n%s", s.stdout)
	}
}

func TestTooFewOpenFilesAreReportedBeforeTheRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := command(t, data, "run", through(t, "nginx"))
	c.Args = append([]string{"sh", "-c", `ulimit -n 400; exec "$@"`, "sh", c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
	output, _ := c.CombinedOutput()
	const want = "rpclab: too few open files: arm through (open loop, 50/s for 2s) needs 535 in one process, a worker of nginx, " +
		"for 1 channels at once and a connection for each of 150 calls in flight; the hard limit here is 400.\n"
	if code := c.ProcessState.ExitCode(); code != 3 || !strings.HasPrefix(string(output), want) {
		t.Errorf("exit code %d, said %q; want 3, %q", code, output, want)
	}
	if s := rpclabIn(t, data, "runs"); strings.Contains(s.stdout, "through") {
		t.Errorf("the store has a run, want none:\n%s", s.stdout)
	}
}

// TestAKilledRunLeavesNoProxy stops the proxies first. nginx's workers are no children of rpclab, so no
// parent-death signal reaches them.
func TestAKilledRunLeavesNoProxy(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"envoy", "haproxy", "nginx"} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c, _ := start(t, t.TempDir(), "run", "--rounds", "50", through(t, route))
			var children, stopped []int
			testkit.Await(t, "the proxy runs", func() bool {
				children = descendants(c.Process.Pid)
				stopped = nil
				for _, pid := range children {
					if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.TrimSpace(string(name)) == route {
						stopped = append(stopped, pid)
					}
				}
				return len(stopped) > 0
			})
			for _, pid := range stopped {
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
		})
	}
}
