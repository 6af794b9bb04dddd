package component_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// shell is a component that runs a script. It is ready once the script has created the file $READY.
func shell(t *testing.T, script string) component.Spec {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	return component.Spec{
		Name: "script", Role: component.Proxy,
		Process: process.Spec{Args: []string{"sh", "-c", script}, Env: []string{"READY=" + ready}},
		Ready: func(context.Context) error {
			_, err := os.Stat(ready)
			return err
		},
	}
}

func start(t *testing.T, s component.Spec) *component.Component {
	t.Helper()
	p, err := component.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestStartErrorHasTheLastLogLines(t *testing.T) {
	_, err := component.Start(t.Context(), shell(t, "echo cannot bind 127.0.0.1:80 >&2; exit 1"))
	const want, line = "script exited before it was ready: exit status 1", "cannot bind"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), line) {
		t.Errorf("error %v, want %q and the log line %q", err, want, line)
	}
}

// Ready may succeed because another server answers on the component's address.
func TestComponentThatExitedIsNotReady(t *testing.T) {
	out := &pidWriter{}
	s := shell(t, "echo $$; echo address in use >&2; exit 1")
	s.Process.Stdout = out
	s.Ready = func(ctx context.Context) error {
		testkit.Await(t, "the script has exited", func() bool {
			return out.pid() != 0 && exited(out.pid())
		})
		return nil
	}
	if _, err := component.Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "address in use") {
		t.Errorf("error %v, want one with the log line address in use", err)
	}
}

func TestCancelledContextEndsStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := shell(t, "sleep 60")
	s.Ready = func(context.Context) error {
		cancel()
		return errors.New("not yet")
	}
	if _, err := component.Start(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestKillReturnsWhenTheRestartedProcessIsReady(t *testing.T) {
	s := shell(t, "touch $READY; sleep 60")
	s.Restart = true
	ready, checks := s.Ready, atomic.Int32{}
	s.Ready = func(ctx context.Context) error {
		checks.Add(1)
		return ready(ctx)
	}
	p := start(t, s)
	before := checks.Load()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if checks.Load() == before {
		t.Error("Kill did not call Ready for the new process")
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if failures := p.Failures(); len(failures) > 0 {
		t.Errorf("Kill is noted as the failures %v, want none", failures)
	}
}

func TestKilledComponentWithoutRestartIsNotRunning(t *testing.T) {
	p := start(t, shell(t, "touch $READY; sleep 60"))
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "script is not running"
	if err := p.Kill(t.Context()); err == nil || err.Error() != want {
		t.Errorf("the second Kill returned %v, want %s", err, want)
	}
	if err := p.Signal(syscall.SIGHUP); err == nil || err.Error() != want {
		t.Errorf("Signal returned %v, want %s", err, want)
	}
}

func TestUnexpectedExitIsAFailureAndItsCPUCounts(t *testing.T) {
	p := start(t, shell(t, "touch $READY; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo out of memory >&2; exit 7"))
	testkit.Await(t, "a failure is noted", func() bool { return len(p.Failures()) == 1 })
	const want, line = "script exited unexpectedly: exit status 7", "out of memory"
	if failure := p.Failures()[0]; !strings.Contains(failure, want) || !strings.Contains(failure, line) {
		t.Errorf("failure %q, want %q and the log line %q", failure, want, line)
	}
	if cpu, _ := p.Usage(); cpu < 10*time.Millisecond {
		t.Errorf("the script used %v of CPU time, want 10 ms at least", cpu)
	}
}

// Workers of nginx exit after a reload: their CPU time must still count.
func TestUsageIncludesDescendantsThatExited(t *testing.T) {
	work := "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	p := start(t, shell(t, fmt.Sprintf("(%s; %s; %s); (%s; touch $READY; sleep 60) & wait", work, work, work, work)))
	both, rss := p.Usage()
	if rss < 1<<20 {
		t.Errorf("the peak of resident memory is %d bytes, want a megabyte at least", rss)
	}
	p.ResetUsage()
	if cpu, _ := p.Usage(); cpu > both/4 {
		t.Errorf("the CPU time after ResetUsage is %v, want at most a quarter of the %v before", cpu, both)
	}
	single, _ := start(t, shell(t, work+"; touch $READY; sleep 60 & wait")).Usage()
	if both < 2*single { // it is four times the work; a busy machine varies the CPU time
		t.Errorf("two children with four times the work used %v, one process %v; want twice as much at least", both, single)
	}
}

func TestUsageOfAKilledComponentIsKept(t *testing.T) {
	s := shell(t, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; touch $READY; sleep 60 & wait")
	p := start(t, s)
	before, _ := p.Usage()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, rss := p.Usage(); after < before || rss == 0 {
		t.Errorf("usage is %v before the kill and %v with %d bytes after; want no less, and some bytes", before, after, rss)
	}
}

func TestCloseEndsChildrenToo(t *testing.T) {
	out := &pidWriter{}
	s := shell(t, "sleep 60 & echo $!; touch $READY; wait")
	s.Process.Stdout = out
	p := start(t, s)
	testkit.Await(t, "the script has written the id of its child", func() bool { return out.pid() != 0 })
	p.Close()
	testkit.Await(t, "the child has exited", func() bool { return exited(out.pid()) })
}

// exited says whether a process has exited; a zombie has.
func exited(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(state), "Z")
}

// Close ends a restart that never becomes ready, and leaves no process.
func TestCloseEndsARestartInProgress(t *testing.T) {
	s := shell(t, "sleep 60")
	s.Restart = true
	var starts atomic.Int32
	restarting := make(chan struct{})
	var once sync.Once
	s.Ready = func(context.Context) error {
		if starts.Add(1) == 1 {
			return nil
		}
		once.Do(func() { close(restarting) })
		return errors.New("never")
	}
	p := start(t, s)
	killed := make(chan error, 1)
	go func() { killed <- p.Kill(context.Background()) }()
	<-restarting
	p.Close()
	if err := <-killed; err == nil || !strings.Contains(err.Error(), "stopped before") {
		t.Errorf("Kill returned %v, want stopped before it was ready", err)
	}
	if err := p.Kill(t.Context()); err == nil {
		t.Error("Kill of a closed component returned nil, want an error")
	}
}

// pidWriter reads the process id that a script prints.
type pidWriter struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *pidWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// pid is the process id; 0: none was printed yet.
func (w *pidWriter) pid() (pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Sscan(w.text.String(), &pid)
	return pid
}

func TestComponentWithoutReadyIsReadyWhenItAnnouncesItsAddress(t *testing.T) {
	s := shell(t, "printf 'serving 127.0.0.1:'; until [ -e $READY ]; do sleep 0.01; done; echo 8080; echo more; sleep 60")
	s.Ready = nil
	started := make(chan *component.Component, 1)
	go func() {
		p, err := component.Start(t.Context(), s)
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	ready := strings.TrimPrefix(s.Process.Env[0], "READY=")
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := <-started
	if p == nil {
		return
	}
	defer p.Close()
	if p.Address() != "127.0.0.1:8080" {
		t.Errorf("the address is %q, want 127.0.0.1:8080", p.Address())
	}
}
