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

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// going is a run in progress.
type going struct {
	command *exec.Cmd
	file    string // its result will be there
	mu      sync.Mutex
	stderr  bytes.Buffer
}

// said is what a run gave.
type said struct {
	document result.Document
	stderr   string
	code     int // -1: it was killed by a signal
}

// begin begins a run on the cluster, which has the program's image.
func begin(t *testing.T, args ...string) *going {
	t.Helper()
	bed(t)
	image(t, "")
	g := &going{file: filepath.Join(t.TempDir(), "result.json")}
	g.command = exec.CommandContext(t.Context(), testkit.Rpclab(t), append([]string{"run", "--on", "kubernetes", "--no-store", "--json", g.file}, args...)...)
	g.command.Stderr = g
	if err := g.command.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// Write takes what the run says on standard error.
func (g *going) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stderr.Write(text)
}

// text is what it said so far.
func (g *going) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stderr.String()
}

// await waits until the run says something on standard error.
func (g *going) await(t *testing.T, what string) {
	t.Helper()
	is := regexp.MustCompile(what)
	testkit.AwaitFor(t, patience, what, func() bool { return is.MatchString(g.text()) })
}

// end waits until the run is over.
func (g *going) end(t *testing.T) said {
	t.Helper()
	var exit *exec.ExitError
	if err := g.command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	s := said{stderr: g.text(), code: g.command.ProcessState.ExitCode()}
	if text, err := os.ReadFile(g.file); err == nil {
		s.document = resulttest.Read(t, bytes.NewReader(text))
	}
	return s
}

// namespace is that of the run; empty: there is none, or none any more.
func (g *going) namespace(t *testing.T) string {
	t.Helper()
	mine := fmt.Sprintf("/%d", g.command.Process.Pid)
	out := kubectl(t, "get", "namespaces", "-l", "rpclab/run", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.annotations['rpclab/owner']}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		if name, owner, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(owner, mine) {
			return name
		}
	}
	return ""
}

// leavesNothing holds a run that is over to have left nothing in the cluster.
func (g *going) leavesNothing(t *testing.T) {
	t.Helper()
	if left := g.namespace(t); left != "" {
		t.Errorf("left: namespace %s\n%s", left, kubectl(t, "get", "all", "-n", left))
	}
}

// run runs an experiment on the cluster, which leaves nothing behind there.
func run(t *testing.T, args ...string) said {
	t.Helper()
	g := begin(t, args...)
	s := g.end(t)
	g.leavesNothing(t)
	return s
}

// well is a run that has to end well.
func well(t *testing.T, args ...string) result.Document {
	t.Helper()
	s := run(t, args...)
	if s.code != 0 {
		t.Fatalf("rpclab run %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return s.document
}
