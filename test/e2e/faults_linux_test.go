package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/nftables"

	"rpclab/internal/testkit"
)

// withEvents writes an experiment with events under an open load.
func withEvents(t *testing.T, duration, events string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.yaml")
	text := `experiment: events
question: Which calls fail?
defaults:
  workload: {greet: {delay: 5ms}}
  server: {replicas: 3, drain: 200ms}
  caller: {timeout: 300ms}
  load: {open: {rate: 100, duration: ` + duration + `}}
arms:
  endpointslice: {route: endpointslice}
rounds: 1
events:
` + events
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryEventSucceeds(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { everyEvent(t, wrong) })
}

// everyEvent has events so close together that a busy machine may perform some too late.
func everyEvent(t *testing.T, wrong func(format string, args ...any)) {
	d, _ := document(t, withEvents(t, "8s", `
- {at: 300ms, scale: 4}
- {at: 600ms, stop: 1}
- {at: 900ms, kill: 1}
- {at: 1200ms, slow: {backends: 1, times: 10}}
- {at: 1500ms, fail: {backends: 1, code: INTERNAL}}
- {at: 1800ms, flap: {backends: 1, every: 100ms}}
- {at: 2100ms, dns: {delay: 1s, lie: true}}
- {at: 2400ms, recover: true}
- {at: 2700ms, cut: {backends: 2}}
- {at: 3000ms, cut: {backends: 1, how: blackhole}}
- {at: 4500ms, recover: true}
- {at: 4800ms, pause: 1}
- {at: 5100ms, resume: true}
- {at: 5400ms, roll: true}
`))
	a := arm(t, d, "endpointslice")
	if len(d.Events) != 14 {
		t.Errorf("the result has %d events, want 14", len(d.Events))
	}
	for _, e := range d.Events {
		if e.Error != "" {
			wrong("%s: %s", e.What, e.Error)
		}
	}
	if a.Errors["INTERNAL"] == 0 || a.Errors["DEADLINE_EXCEEDED"] == 0 {
		wrong("errors are %v, want INTERNAL from fail and DEADLINE_EXCEEDED from the blackhole", a.Errors)
	}
	for _, trial := range a.Trials {
		if len(trial.Lost) > 0 {
			wrong("backends were lost: %q", trial.Lost)
		}
	}
}

// blackholeRun returns the arguments of a long run with a blackhole in each trial.
func blackholeRun(t *testing.T) []string {
	return []string{"run", withEvents(t, "4s", "- {at: 500ms, cut: {backends: 1, how: blackhole}}\n"), "--rounds", "50"}
}

func TestBlackholeUsesANetworkThatEndsWithTheRun(t *testing.T) {
	t.Parallel()
	machine := network(t, os.Getpid())
	c, _ := start(t, t.TempDir(), blackholeRun(t)...)
	own := network(t, c.Process.Pid)
	if own == machine {
		t.Fatal("the run has no network namespace of its own")
	}
	nft, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := nft.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if strings.HasPrefix(table.Name, "rpclab") {
			t.Errorf("the machine's network has the packet filter table %s", table.Name)
		}
	}
	children := descendants(c.Process.Pid)
	for _, pid := range children {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) { // its trial may be over
			t.Fatal(err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	testkit.Await(t, "no process uses its network namespace", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/ns/net")
		for _, path := range all {
			if link, err := os.Readlink(path); err == nil && link == own {
				return false
			}
		}
		return true
	})
}

// TestARunInItsOwnNetworkSaysThatNothingReachesItsPage has a token, which the program has not after it has started again.
func TestARunInItsOwnNetworkSaysThatNothingReachesItsPage(t *testing.T) {
	t.Parallel()
	file := withEvents(t, "1s", "- {at: 200ms, cut: {backends: 1, how: blackhole}}\n")
	c := command(t, t.TempDir(), "run", file, "--web", "--listen", "0.0.0.0:0", "--metrics", "0.0.0.0:0")
	c.Env = append(c.Env, "RPCLAB_TOKEN=0123456789abcdef0123456789abcdef")
	s, err := ran(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.code != 0 || strings.Count(s.stderr, "serves no page and no metrics of this run") != 1 || strings.Contains(s.stderr, "http://") {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
}

func TestInterruptDuringABlackholeCleansUp(t *testing.T) {
	t.Parallel()
	c, output := start(t, t.TempDir(), blackholeRun(t)...)
	children := descendants(c.Process.Pid)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(output.String(), "of 50 trials") {
		t.Errorf("exit code %d; output\n%s", code, output)
	}
	for _, pid := range children {
		if alive(pid) {
			t.Errorf("process %d outlived the interrupt", pid)
		}
	}
}

// runAsAnotherUser runs rpclab as another user, who can read the file.
func runAsAnotherUser(t *testing.T, file string, args ...string) said {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test runs the program as another user, which needs root: run it with sudo")
	}
	data := t.TempDir()
	err := errors.Join(os.Chown(data, 65534, 65534), os.Chmod(file, 0o644))
	for dir := filepath.Dir(file); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		err = errors.Join(err, os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, data, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	s, err := ran(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBlackholeWithoutPermissionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	file := withEvents(t, "4s", "- {at: 500ms, cut: {backends: 1, how: blackhole}}\n")
	if s := runAsAnotherUser(t, file, "run", file); s.code != 3 || !strings.Contains(s.stderr, "this needs root: run it with sudo") {
		t.Errorf("exit code %d; standard error\n%s", s.code, s.stderr)
	}
}

// rpclab cannot stop such a server, so the run hung.
func TestAServerOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	file := stranger(t, `command: ["`, `command: ["sudo", "`)
	s := runAsAnotherUser(t, file, "run", "channels", "--quick", "--arms", "shared", "--service", file)
	want := "server.command: rpclab may not stop what sudo starts as another user: remove sudo, or run rpclab itself as root"
	if s.code != 3 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 3 and %q; standard error\n%s", s.code, want, s.stderr)
	}
}

func TestARunInItsOwnNetworkSaysThatNothingIsSent(t *testing.T) {
	t.Parallel()
	d, s := document(t, withEvents(t, "600ms", "- {at: 300ms, cut: {backends: 1, how: blackhole}}\n"), "--otlp", "http://127.0.0.1:4318")
	if n := strings.Count(s.stderr, "nothing is sent to OpenTelemetry and Prometheus"); n != 1 || arm(t, d, "endpointslice").Calls == 0 || strings.Contains(s.stderr, "could not send") {
		t.Errorf("%d warnings, want 1:\n%s", n, s.stderr)
	}
}

// network returns the network namespace of a process.
func network(t *testing.T, pid int) string {
	t.Helper()
	link, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/net"))
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestARollEventLosesNoCallOfWatchingClients also requires that a DNS client loses calls.
func TestARollEventLosesNoCallOfWatchingClients(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { rollWithWatch(t, wrong) })
}

func rollWithWatch(t *testing.T, wrong func(format string, args ...any)) {
	file := withEvents(t, "5s", "- {at: 1s, roll: true}\n")
	d, _ := document(t, file, "--set", "load.open.rate=500", "--set", "server.drain=500ms", "--set", "caller.timeout=5s",
		"--set", "arms={endpointslice: {route: endpointslice}, xds: {route: xds}, headless: {route: headless}}")
	for _, a := range d.Arms {
		if u := firstEvent(t, a).Unfinished; u != nil {
			wrong("%s: %d of %d backends were replaced within the load", a.Name, u.Done, u.Of)
			continue
		}
		watches := a.Name != "headless"
		if n := a.Failed(); watches != (n == 0) || a.Calls+a.Dropped != 2500 {
			lost(t, d, wrong)("%s lost %d of %d calls (%v); want losses only without a watch", a.Name, n, a.Calls, a.Errors)
		}
		for id := range a.Trials[0].Backends {
			if a.Trials[0].Backends[id] == 0 && watches {
				wrong("%s: backend %s got no call", a.Name, id)
			}
		}
	}
	for _, e := range d.Events {
		if e.Failed > 0 && e.Errors["UNAVAILABLE"] != e.Failed {
			lost(t, d, wrong)("%s: the codes of %d lost calls are %v, want UNAVAILABLE for all", e.Arm, e.Failed, e.Errors)
		}
	}
}
