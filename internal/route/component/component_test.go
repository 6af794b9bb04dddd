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

// shell is a component that runs a script, in which $READY is a file whose presence means ready.
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

func TestAComponentThatEndsBeforeItIsReadySaysItsLastWords(t *testing.T) {
	_, err := component.Start(t.Context(), shell(t, "echo cannot bind 127.0.0.1:80 >&2; exit 1"))
	if err == nil || !strings.Contains(err.Error(), "script exited before it was ready: exit status 1") || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("error %v", err)
	}
}

func TestAComponentWhosePlaceAnotherHasIsNotReady(t *testing.T) {
	out := &pids{}
	s := shell(t, "echo $$; echo address in use >&2; exit 1")
	s.Process.Stdout = out
	s.Ready = func(ctx context.Context) error { // the other one's answer, after this one's end
		testkit.Await(t, "the end of the script", func() bool {
			return out.last() != 0 && gone(out.last())
		})
		return nil
	}
	if _, err := component.Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "address in use") {
		t.Errorf("error %v", err)
	}
}

func TestAnInterruptEndsAStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := shell(t, "sleep 60")
	s.Ready = func(context.Context) error {
		cancel()
		return errors.New("not yet")
	}
	if _, err := component.Start(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAKilledPartIsReadyAgainWhenKillReturns(t *testing.T) {
	s := shell(t, "touch $READY; sleep 60")
	s.Restart = true
	ask, asked := s.Ready, atomic.Int32{}
	s.Ready = func(ctx context.Context) error {
		asked.Add(1)
		return ask(ctx)
	}
	p := start(t, s)
	before := asked.Load()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if asked.Load() == before {
		t.Error("nobody asked whether the new process is ready")
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if losses := p.Failures(); len(losses) > 0 {
		t.Errorf("an end that was asked for is a loss: %v", losses)
	}
}

func TestAComponentThatIsNotToRunAgainStaysAway(t *testing.T) {
	p := start(t, shell(t, "touch $READY; sleep 60"))
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(t.Context()); err == nil || err.Error() != "script is not running" {
		t.Errorf("error %v", err)
	}
	if err := p.Signal(syscall.SIGHUP); err == nil {
		t.Error("a signal reached it")
	}
}

func TestAnEndThatNobodyAskedForIsALossAndItsTimeCounts(t *testing.T) {
	p := start(t, shell(t, "touch $READY; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo out of memory >&2; exit 7"))
	testkit.Await(t, "a loss", func() bool { return len(p.Failures()) == 1 })
	if loss := p.Failures()[0]; !strings.Contains(loss, "script exited unexpectedly: exit status 7") || !strings.Contains(loss, "out of memory") {
		t.Errorf("loss %q", loss)
	}
	if cpu, _ := p.Usage(); cpu < 10*time.Millisecond {
		t.Errorf("it used %v", cpu)
	}
}

// A master's worker that ended, as nginx's does after a reload, is not forgotten.
func TestUsageCountsDescendantsAlsoThoseThatEnded(t *testing.T) {
	work := "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	p := start(t, shell(t, fmt.Sprintf("(%s; %s; %s); (%s; touch $READY; sleep 60) & wait", work, work, work, work)))
	both, rss := p.Usage()
	if rss < 1<<20 {
		t.Errorf("they hold %d bytes", rss)
	}
	p.ResetUsage()
	if cpu, _ := p.Usage(); cpu > both/4 {
		t.Errorf("%v are counted after a reset, of %v", cpu, both)
	}
	one := start(t, shell(t, work+"; touch $READY; sleep 60 & wait"))
	single, _ := one.Usage()
	if both < 2*single { // of four times as much work, whatever others take of the processors meanwhile
		t.Errorf("two used %v, one uses %v", both, single)
	}
}

func TestUsageOfAKilledPartIsKept(t *testing.T) {
	s := shell(t, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; touch $READY; sleep 60 & wait")
	p := start(t, s)
	before, _ := p.Usage()
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, rss := p.Usage(); after < before || rss == 0 {
		t.Errorf("%v were used before the kill, %v after, %d bytes", before, after, rss)
	}
}

func TestNothingIsLeftOfAComponent(t *testing.T) {
	out := &pids{}
	s := shell(t, "sleep 60 & echo $!; touch $READY; wait")
	s.Process.Stdout = out
	p := start(t, s)
	testkit.Await(t, "the id of its child", func() bool { return out.last() != 0 })
	p.Close()
	testkit.Await(t, "its child is gone", func() bool { return gone(out.last()) })
}

// gone says whether a process has ended; one that nobody waits for is a zombie.
func gone(id int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(id)).Output()
	return err != nil || strings.HasPrefix(string(out), "Z")
}

// Close does not wait for a start that never ends, and what Kill was about to start is
// not left behind.
func TestCloseEndsAStartUnderWay(t *testing.T) {
	s := shell(t, "sleep 60")
	s.Restart = true
	var starts atomic.Int32
	again := make(chan struct{})
	var once sync.Once
	s.Ready = func(context.Context) error {
		if starts.Add(1) == 1 {
			return nil
		}
		once.Do(func() { close(again) })
		return errors.New("never")
	}
	p := start(t, s)
	killed := make(chan error, 1)
	go func() { killed <- p.Kill(context.Background()) }()
	<-again
	p.Close()
	if err := <-killed; err == nil || !strings.Contains(err.Error(), "stopped before") {
		t.Errorf("Kill said %v", err)
	}
	if err := p.Kill(t.Context()); err == nil {
		t.Error("a closed part could be killed")
	}
}

// pids reads process ids, a line each.
type pids struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *pids) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pids) last() (id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Sscan(p.text.String(), &id)
	return id
}

func TestAComponentOfOurOwnIsReadyWhenItSaysWhereItListens(t *testing.T) {
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
		t.Errorf("it listens at %q", p.Address())
	}
}
