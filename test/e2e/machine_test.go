package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// A run of 5 ms calls needs little CPU time, so that the program beside it gets most.
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
		t.Errorf("exit code %d, want 1 and a gate that could not be told\n%s%s", s.code, s.stdout, s.stderr)
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
