package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// occupy uses all processors until stop is called.
func occupy() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// A run of 5 ms calls needs little CPU time, so another program gets most of it.
func TestABusyMachineIsInTheHeadOfTheReportAndBarsVerdictsBetweenRuns(t *testing.T) {
	data := t.TempDir()
	stop := occupy()
	id := storeRun(t, data)
	stop()
	for _, args := range [][]string{{"report", id}, {"report", id, "--full"}} {
		s := rpclabIn(t, data, args...)
		if !strings.Contains(s.stdout, "ther programs used ") || strings.Index(s.stdout, "ther programs used ") > 1200 {
			t.Errorf("%v: the head does not say that the machine was busy:\n%s", args, s.stdout)
		}
	}
	gate := []string{"compare", id, id, "--gate", "p50 ratio < 9"}
	s := rpclabIn(t, data, gate...)
	if s.code != 1 || !strings.Contains(s.stderr, "rpclab could not tell: in A, other programs used ") || !strings.Contains(s.stdout, "Other programs used CPU time: ") {
		t.Errorf("exit code %d, want 1 and an undecided gate\n%s%s", s.code, s.stdout, s.stderr)
	}
	if s := rpclabIn(t, data, append(gate, "--allow", "busy")...); s.code != 0 {
		t.Errorf("with --allow busy: exit code %d, want 0\n%s", s.code, s.stderr)
	}
}

// The server of a load is not another program, although rpclab did not start it.
func TestABusyMachineIsInTheHeadOfALoadsReportAndBarsVerdictsBetweenLoads(t *testing.T) {
	data := t.TempDir()
	address, _ := greeterAt(t, "--delay", "20ms")
	file := filepath.Join(data, "load.json")
	stop := occupy()
	s := rpclabIn(t, data, "load", "--call", sayHello, "--concurrency", "2", "--duration", "700ms", "--rounds", "4", "--json", file, address)
	stop()
	head, _, _ := strings.Cut(s.stdout, "\n\n")
	if s.code != 0 || !strings.Contains(strings.Join(strings.Fields(head), " "), "Warning: other programs used ") {
		t.Errorf("exit code %d, want 0 and a warning of other programs in the head\n%s%s", s.code, s.stdout, s.stderr)
	}
	gate := []string{"compare", file, file, "--gate", "p50 ratio < 9"}
	if s := rpclabIn(t, data, gate...); s.code != 1 || !strings.Contains(s.stderr, "rpclab could not tell: in A, other programs used ") {
		t.Errorf("exit code %d, want 1 and an undecided gate\n%s%s", s.code, s.stdout, s.stderr)
	}
	if s := rpclabIn(t, data, append(gate, "--allow", "busy")...); s.code != 0 {
		t.Errorf("with --allow busy: exit code %d, want 0\n%s", s.code, s.stderr)
	}
}

// lockedRun starts a small run that takes the lock of the machine, in a directory of the test.
func lockedRun(t *testing.T, cache string, args ...string) *background {
	t.Helper()
	data := t.TempDir()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &background{Cmd: command(t, data, append([]string{"run", file, "--json", "-"}, args...)...)}
	b.Env = append(b.Env, "RPCLAB_MACHINE_LOCK=", "XDG_CACHE_HOME="+cache)
	b.Stdout, b.Stderr = &b.out, &b.err
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Process.Kill() })
	return b
}

// background is a run in progress whose output can be read.
type background struct {
	*exec.Cmd
	out, err lockedBuffer
}

// document waits for the end of the run and returns its result.
func (b *background) document(t *testing.T, code int) result.Document {
	t.Helper()
	if _ = b.Wait(); b.ProcessState.ExitCode() != code {
		t.Fatalf("exit code %d, want %d\n%s", b.ProcessState.ExitCode(), code, b.err.String())
	}
	return resulttest.Read(t, strings.NewReader(b.out.String()))
}

// lockedBuffer is a buffer that can be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// sharedWith are the other runs that a document says used its machine.
func sharedWith(d result.Document) (texts []string) {
	for _, w := range d.MachineWarnings {
		if w.Kind == result.MachineShared {
			texts = append(texts, w.Text)
		}
	}
	return texts
}

func TestASecondRunWaitsForTheFirstOrSaysThatItShared(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	first := lockedRun(t, cache, "--rounds", "1000")
	testkit.Await(t, "the first run uses the machine", func() bool {
		all, _ := filepath.Glob(filepath.Join(cache, "rpclab", "running", "*", "*.json"))
		return len(all) == 1
	})
	second := lockedRun(t, cache)
	testkit.Await(t, "the second run waits", func() bool {
		return strings.Contains(second.err.String(), "rpclab: waiting for another run that uses this machine: rpclab run small (process "+strconv.Itoa(first.Process.Pid)+", since ")
	})
	shared := sharedWith(lockedRun(t, cache, "--no-wait").document(t, 0))
	if len(shared) != 1 || !strings.HasPrefix(shared[0], "another rpclab run used this machine in 4 of 4 trials: rpclab run small (process "+strconv.Itoa(first.Process.Pid)) {
		t.Errorf("with --no-wait the warnings are %q, want one about the first run", shared)
	}
	if second.out.String() != "" {
		t.Error("the second run did not wait")
	}
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if shared := sharedWith(first.document(t, 130)); len(shared) != 1 {
		t.Errorf("the first run warns %q, want a warning about the run with --no-wait", shared)
	}
	if shared := sharedWith(second.document(t, 0)); len(shared) != 0 {
		t.Errorf("the run that waited warns %q, want nothing", shared)
	}
}

// steady is a run of one trial, whose load lasts long enough to stop a process in it.
const steady = `experiment: steady
question: What stops?
defaults:
  workload: {greet: {delay: 1ms}}
  caller: {kind: wire, warmup: 5}
  server: {replicas: 2}
  route: forwarder
  load: {open: {rate: 50, duration: 5s}}
arms:
  one: {}
rounds: 1
`

// followed is the same over a control plane.
var followed = strings.NewReplacer("kind: wire", "kind: grpc-go", "route: forwarder", "route: xds").Replace(steady)

// paused is the same with an event that suspends a backend.
const paused = steady + `events: [{at: 1s, pause: 1}, {at: 3s, resume: true}]
`

// TestAProcessThatIsStoppedDuringALoadIsNamed stops one process of a run for 1.5 s: a server, a proxy, a
// control plane, or rpclab itself. A pause that the experiment asks for is no disturbance.
func TestAProcessThatIsStoppedDuringALoadIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		experiment, argument string // of the process to stop; empty: rpclab itself
		kind                 result.MachineWarningKind
		process              string
	}{
		"server":        {steady, "server", result.ProcessFrozen, "greeter-"},
		"proxy":         {steady, "forward", result.ProcessFrozen, "forwarder"},
		"rpclab":        {steady, "", result.RpclabStopped, ""},
		"control plane": {followed, "xds", result.ProcessFrozen, "xds"},
		"nothing":       {paused, "none", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			undisturbed(t, func(_ int, wrong func(string, ...any)) { // the load of a busy machine may start late
				d := stoppedRun(t, c.experiment, c.argument, wrong)
				var found []result.MachineWarning
				for _, w := range d.MachineWarnings {
					if w.Kind == result.ProcessFrozen || w.Kind == c.kind {
						found = append(found, w)
					}
				}
				switch {
				case c.kind == "" && len(found) > 0:
					wrong("the warnings are %+v, want none about a process that the experiment paused", found)
				case c.kind == "":
				case len(found) != 1 || found[0].Kind != c.kind || !strings.HasPrefix(found[0].Process, c.process) || found[0].DurationMS < 900:
					wrong("the warnings are %+v, want one of kind %s about %s, for 1500 ms", found, c.kind, c.process)
				}
			})
		})
	}
}

// stopAWhile stops a process for 1.5 s.
func stopAWhile(pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(pid, signal); err != nil {
			return fmt.Errorf("signal %v to process %d: %w", signal, pid, err)
		}
		<-time.After(1500 * time.Millisecond)
	}
	return nil
}

func TestAStopDuringALoadIsNamed(t *testing.T) {
	t.Parallel()
	address, server := greeterAt(t)
	b := &background{Cmd: command(t, t.TempDir(), "load", "--call", sayHello, "--rate", "50", "--duration", "1h", "--json", "-", address)}
	b.Stdout, b.Stderr = &b.out, &b.err
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Process.Kill() })
	testkit.Await(t, "the load reports its progress", func() bool { return strings.Contains(b.err.String(), "/s  p50 ") })
	if err := errors.Join(stopAWhile(b.Process.Pid), stopAWhile(server.Process.Pid), b.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	stopped := map[string]bool{}
	for _, w := range b.document(t, 130).MachineWarnings {
		if w.DurationMS >= 900 {
			stopped[string(w.Kind)+" "+w.Process] = true
		}
	}
	for _, want := range []string{"stopped ", fmt.Sprintf("frozen the server (process %d)", server.Process.Pid)} {
		if !stopped[want] {
			t.Errorf("no warning says for 1500 ms: %q; the warnings are %v:\n%s", want, stopped, b.out.String())
		}
	}
}

// stoppedRun runs an experiment and stops the first process with an argument in its load. It is wrong if the run, or that
// process, ended before.
func stoppedRun(t *testing.T, experiment, argument string, wrong func(string, ...any)) result.Document {
	t.Helper()
	data := t.TempDir()
	file := filepath.Join(data, "steady.yaml")
	if err := os.WriteFile(file, []byte(experiment), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &background{Cmd: command(t, data, "run", file, "--json", "-")}
	b.Stdout, b.Stderr = &b.out, &b.err
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	testkit.Await(t, "the callers run", func() bool {
		pid = withArgument(b.Process.Pid, argument)
		return withArgument(b.Process.Pid, "caller") > 0 && (pid > 0 || argument == "none") || b.out.String() != "" // this test stood still
	})
	<-time.After(2 * time.Second) // the warm-up is over, and the load is not
	switch {
	case argument == "none":
	case pid == 0:
		wrong("the run ended before this test could stop a process")
	default:
		if err := stopAWhile(pid); err != nil {
			wrong("%v", err)
		}
	}
	return b.document(t, 0)
}

// withArgument returns the process, of another and its descendants, whose first argument this is; "": the
// process itself.
func withArgument(pid int, argument string) int {
	if argument == "" {
		return pid
	}
	for _, child := range descendants(pid) {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(child) + "/cmdline")
		if args := strings.Split(string(line), "\x00"); len(args) > 1 && args[1] == argument {
			return child
		}
	}
	return 0
}
