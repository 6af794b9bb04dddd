package kube

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// liveRun is a run in progress.
type liveRun struct {
	command *exec.Cmd
	file    string // for its result
	ended   chan struct{}
	err     error // of Wait, when it has ended
	mu      sync.Mutex
	stderr  bytes.Buffer
}

// outcome is the result of a run.
type outcome struct {
	document result.Document
	stderr   string
	code     int // -1: killed by a signal
}

// begin starts a run on the cluster, with the image that is there.
func begin(t *testing.T, args ...string) *liveRun {
	t.Helper()
	return beginWith(t, image(t), args...)
}

// beginWith starts a run on the cluster with an image; empty: the run builds and loads its own.
func beginWith(t *testing.T, name string, args ...string) *liveRun {
	t.Helper()
	clusterDir(t)
	g := &liveRun{file: filepath.Join(t.TempDir(), "result.json")}
	g.command = exec.CommandContext(t.Context(), testkit.Rpclab(t), append([]string{"run", "--on", "kubernetes", "--no-store", "--json", g.file}, args...)...)
	g.command.Env = append(os.Environ(), "RPCLAB_IMAGE="+name)
	g.command.Stderr = g
	g.start(t)
	return g
}

// start starts the command.
func (g *liveRun) start(t *testing.T) {
	t.Helper()
	g.command.WaitDelay = time.Minute // for processes that it may leave when it is killed
	if err := g.command.Start(); err != nil {
		t.Fatal(err)
	}
	g.ended = make(chan struct{})
	go func() {
		g.err = g.command.Wait()
		close(g.ended)
	}()
	t.Cleanup(func() {
		<-g.ended // the context of the test has ended
		if t.Failed() {
			t.Logf("%s printed:\n%s", g.command, g.text())
		}
	})
}

// Write records the standard error of the run.
func (g *liveRun) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stderr.Write(text)
}

// text returns the standard error so far.
func (g *liveRun) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stderr.String()
}

// await waits until the standard error matches.
func (g *liveRun) await(t *testing.T, what string) {
	t.Helper()
	pattern := regexp.MustCompile(what)
	g.awaitFor(t, patience, what, pattern.MatchString)
}

// awaitFor waits until the command has printed something. It fails if the command ends before.
func (g *liveRun) awaitFor(t *testing.T, long time.Duration, what string, printed func(string) bool) {
	t.Helper()
	testkit.AwaitFor(t, long, what, func() bool {
		ended := false
		select {
		case <-g.ended:
			ended = true
		default:
		}
		ok := printed(g.text())
		if ended && !ok {
			t.Fatalf("the command ended (%v) before %s", g.err, what)
		}
		return ok
	})
}

// end waits until the run has ended.
func (g *liveRun) end(t *testing.T) outcome {
	t.Helper()
	<-g.ended
	var exit *exec.ExitError
	if g.err != nil && !errors.As(g.err, &exit) {
		t.Fatal(g.err)
	}
	s := outcome{stderr: g.text(), code: g.command.ProcessState.ExitCode()}
	if text, err := os.ReadFile(g.file); err == nil {
		s.document = resulttest.Read(t, bytes.NewReader(text))
	}
	return s
}

// namespace returns the namespace of the run, or "" if it does not exist.
func (g *liveRun) namespace(t *testing.T) string {
	t.Helper()
	suffix := fmt.Sprintf("/%d", g.command.Process.Pid)
	out := kubectl(t, "get", "namespaces", "-l", "rpclab/run", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations['rpclab/owner']}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		if name, owner, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(owner, suffix) {
			return name
		}
	}
	return ""
}

// leavesNothing checks that an ended run left nothing in the cluster.
func (g *liveRun) leavesNothing(t *testing.T) {
	t.Helper()
	if left := g.namespace(t); left != "" {
		t.Errorf("the namespace %s still exists:\n%s", left, kubectl(t, "get", "all", "-n", left))
	}
}

// run runs an experiment on the cluster and checks that it leaves nothing.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	g := begin(t, args...)
	s := g.end(t)
	g.leavesNothing(t)
	return s
}

// mustRun runs an experiment that must succeed.
func mustRun(t *testing.T, args ...string) result.Document {
	t.Helper()
	s := run(t, args...)
	if s.code != 0 {
		t.Fatalf("rpclab run %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return s.document
}
