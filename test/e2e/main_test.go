// Package e2e tests the rpclab binary from outside.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rpclab/experiments"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// soak makes some tests longer (make soak).
var soak = flag.Bool("soak", false, "make loads as large as make soak does")

// many returns the size of a load: soaked with -soak, else usually.
func many(soaked, usually int) int {
	if *soak {
		return soaked
	}
	return usually
}

func TestMain(m *testing.M) { testkit.Main(m) }

// said is the output of the program.
type said struct {
	stdout, stderr string
	code           int
	took           time.Duration
	taken          time.Duration // CPU time that other processes and machines took meanwhile
}

// promptly requires that a --quick run took at most 30 s, without the CPU time of others.
func (s said) promptly(wrong func(format string, args ...any)) { s.within(30*time.Second, wrong) }

// within requires that a --quick run took at most the promised time, without the CPU time of others.
func (s said) within(promised time.Duration, wrong func(format string, args ...any)) {
	if s.took-s.taken > promised {
		wrong("--quick took %v, of which others took %v, want at most %v", s.took, s.taken, promised)
	}
}

// command prepares the program with its own store.
func command(t *testing.T, data string, args ...string) *exec.Cmd {
	t.Helper()
	patience := 10 * time.Minute
	if *soak {
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, testkit.Rpclab(t), args...)
	c.Env = append(os.Environ(), "RPCLAB_DATA_DIR="+data)
	return c
}

func rpclab(t *testing.T, args ...string) said { return rpclabIn(t, t.TempDir(), args...) }

func rpclabIn(t *testing.T, data string, args ...string) said {
	t.Helper()
	s, err := ran(command(t, data, args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ran runs a command.
func ran(c *exec.Cmd) (said, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	began, before := time.Now(), measure.ReadProcessorTimes()
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return said{}, err
	}
	took, all := time.Since(began), measure.ReadProcessorTimes().Since(before)
	own := c.ProcessState.UserTime() + c.ProcessState.SystemTime() // with its children
	return said{stdout.String(), stderr.String(), c.ProcessState.ExitCode(), took, all.Stolen + max(0, all.Busy-own)}, nil
}

// document runs an experiment that must succeed and reads its result.
func document(t *testing.T, args ...string) (result.Document, said) {
	t.Helper()
	s := rpclab(t, append([]string{"run", "--json", "-"}, args...)...)
	if s.code != 0 {
		t.Fatalf("rpclab run %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return resulttest.Read(t, strings.NewReader(s.stdout)), s
}

// whole is the output and the files of one run.
type whole struct {
	said
	json, markdown string
	files          map[string]string // by path: the store, the reports and temporary files
}

// smaller are additional arguments of --quick runs: only the arms that tests examine, and loads long
// enough for a busy machine to start processes.
var smaller = map[string][]string{
	"ladder":   {"--arms", "rest-go,grpc-go,grpc-netty", "--set", "load.closed.users=100"},
	"policies": {"--set", "load.open.duration=6s", "--arms", "round-robin,least-request,weighted,outlier,deadline,outlier-deadline,envoy-least-request,haproxy-least-conn"},
	"rollout":  {"--set", "load.open.duration=4s"},
	"security": {"--arms", "unary-bare,unary-mtls,unary-signed,unary-jwt-every", "--set", "rounds=1"},
}

var quicks sync.Map // of functions that run an experiment once, by its name and try

// quick runs a built-in experiment with --quick, once for all tests.
func quick(t *testing.T, experiment string) (result.Document, whole) {
	t.Helper()
	return quickTry(t, experiment, 1)
}

// quickTry is quick for one try of [undisturbed].
func quickTry(t *testing.T, experiment string, try int) (result.Document, whole) {
	t.Helper()
	program := testkit.Rpclab(t)
	run, _ := quicks.LoadOrStore(fmt.Sprint(experiment, try), sync.OnceValues(func() (whole, error) { return runQuick(program, experiment) }))
	w, err := run.(func() (whole, error))()
	if err != nil {
		t.Fatal(err)
	}
	return resulttest.Read(t, strings.NewReader(w.json)), w
}

// quickly requires that a --quick run of an experiment takes at most 30 s, without the CPU time of others.
func quickly(t *testing.T, experiment string) {
	t.Helper()
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		_, s := quickTry(t, experiment, try)
		s.promptly(wrong)
	})
}

func runQuick(program, experiment string) (w whole, err error) {
	dir, err := os.MkdirTemp("", "rpclab-e2e-") // t.TempDir would be removed with the first test
	if err != nil {
		return w, err
	}
	defer os.RemoveAll(dir)
	document, page, temporary := filepath.Join(dir, "out.json"), filepath.Join(dir, "out.md"), filepath.Join(dir, "tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return w, err
	}
	c := exec.Command(program, append([]string{"run", experiment, "--quick", "--full", "--json", document, "--md", page}, smaller[experiment]...)...)
	c.Env = append(os.Environ(), "RPCLAB_DATA_DIR="+dir, "TMPDIR="+temporary)
	if w.said, err = ran(c); err != nil {
		return w, err
	}
	if w.code != 0 {
		return w, fmt.Errorf("%s: exit code %d\n%s", strings.Join(c.Args, " "), w.code, w.stderr)
	}
	w.files = map[string]string{}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		w.files[path] = string(text)
		return err
	})
	w.json, w.markdown = w.files[document], w.files[page]
	return w, err
}

// timed are the experiments whose tests run alone. make test runs those in a process of their own, with which others
// cannot share a run.
var timed = []string{"budget", "chain", "channels", "policies"}

// TestEveryBuiltInExperimentRunsScaledDown runs each other experiment with --quick. resulttest.Read checks
// every result against the schema.
func TestEveryBuiltInExperimentRunsScaledDown(t *testing.T) {
	t.Parallel()
	for _, name := range experiments.Names() {
		if slices.Contains(timed, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runsScaledDown(t, name)
		})
	}
}

func TestEveryTimedExperimentRunsScaledDown(t *testing.T) {
	for _, name := range timed {
		t.Run(name, func(t *testing.T) { runsScaledDown(t, name) })
	}
}

func runsScaledDown(t *testing.T, experiment string) {
	t.Helper()
	if d, _ := quick(t, experiment); len(d.Arms) == 0 {
		t.Error("the result has no arms")
	}
}

func arm(t *testing.T, d result.Document, name string) result.Arm {
	t.Helper()
	for _, a := range d.Arms {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("the result has no arm %s", name)
	return result.Arm{}
}

// lost returns what reports that calls were lost where none may be: wrong, if a process of the run stood still meanwhile,
// else an error that no other try mends.
func lost(t *testing.T, d result.Document, wrong func(format string, args ...any)) func(format string, args ...any) {
	stoodStill := []result.MachineWarningKind{result.ProcessFrozen, result.ProcessStarved, result.RpclabStopped, result.ClockJumped}
	if slices.ContainsFunc(d.MachineWarnings, func(w result.MachineWarning) bool { return slices.Contains(stoodStill, w.Kind) }) {
		return wrong
	}
	return t.Errorf
}

// undisturbed repeats a measurement that a busy machine may have disturbed. It fails after three
// failed tries.
func undisturbed(t *testing.T, measure func(try int, wrong func(format string, args ...any))) {
	t.Helper()
	for try := 1; ; try++ {
		var all []string
		measure(try, func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) })
		switch {
		case len(all) == 0:
			return
		case try == 3:
			t.Error(strings.Join(all, "\n"))
			return
		}
		t.Logf("try %d: %s", try, strings.Join(all, "\n"))
	}
}
