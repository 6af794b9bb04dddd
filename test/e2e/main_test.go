// Package e2e drives the program as its users do.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// said is what the program left behind.
type said struct {
	stdout, stderr string
	code           int
	took           time.Duration
	taken          time.Duration // of the processors, by neighbours and by who else is here, meanwhile
}

// promptly holds a --quick run to the 30 s that it promises of a machine of its own.
func (s said) promptly(t *testing.T) {
	t.Helper()
	s.within(t, 30*time.Second)
}

// within holds a --quick run to what it promises.
func (s said) within(t *testing.T, promised time.Duration) {
	t.Helper()
	if s.took-s.taken > promised {
		t.Errorf("--quick took %v, of which others took %v; %v are promised", s.took, s.taken, promised)
	}
}

// command prepares the program with a store of its own.
func command(t *testing.T, data string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, testkit.Rpclab(t), args...)
	c.Env = append(os.Environ(), "RPCLAB_DATA_DIR="+data)
	return c
}

func rpclab(t *testing.T, args ...string) said { return rpclabIn(t, t.TempDir(), args...) }

func rpclabIn(t *testing.T, data string, args ...string) said {
	t.Helper()
	c := command(t, data, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	began, before := time.Now(), measure.LookAtProcessors()
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	took, all := time.Since(began), measure.LookAtProcessors().Since(before)
	own := c.ProcessState.UserTime() + c.ProcessState.SystemTime() // with its children
	return said{stdout.String(), stderr.String(), c.ProcessState.ExitCode(), took, all.Stolen + max(0, all.Busy-own)}
}

// document runs an experiment that has to succeed and reads its result.
func document(t *testing.T, args ...string) (result.Document, said) {
	t.Helper()
	s := rpclab(t, append([]string{"run", "--json", "-"}, args...)...)
	if s.code != 0 {
		t.Fatalf("rpclab run %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.stderr)
	}
	return read(t, strings.NewReader(s.stdout)), s
}

func read(t *testing.T, r io.Reader) result.Document {
	t.Helper()
	d, err := result.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return d
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

// undisturbed makes a measurement again that a busy machine has spoiled, with deadlines that
// pass and connections that starve. What is wrong three times running is wrong.
func undisturbed(t *testing.T, measure func(wrong func(format string, args ...any))) {
	t.Helper()
	for try := 1; ; try++ {
		var all []string
		measure(func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) })
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
