package e2e

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
)

const shown = `
experiment: shown
question: What does a terminal show?
defaults: {workload: {greet: {delay: 1ms}}, load: {closed: {users: 3, duration: 2500ms}}}
arms: {an-arm-with-a-rather-long-name: {route: clusterip}, spread: {route: endpointslice}}
rounds: 2
`

// inTerminal returns the output of a run in a terminal of this width.
func inTerminal(t *testing.T, columns uint16, env ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shown.yaml")
	if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, t.TempDir(), "run", file, "--no-store")
	c.Env = append(append(c.Env, "TERM=xterm"), env...)
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var said bytes.Buffer
	_, _ = io.Copy(&said, terminal) // reading a closed terminal returns an error
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return said.String()
}

var (
	colours  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	controls = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")
)

// TestProgressInATerminal checks that the progress line is overwritten, shows the remaining time and
// the backends, and that no line is wider than the terminal.
func TestProgressInATerminal(t *testing.T) {
	t.Parallel()
	said := inTerminal(t, 72)
	if !colours.MatchString(said) {
		t.Error("the output has no colours")
	}
	for _, want := range []*regexp.Regexp{
		regexp.MustCompile(`\r\x1b\[K\[\d/4, \d+s left\] round 2`), regexp.MustCompile(`round \d  spread  .*/s, p99 .*[▁-█]{3}`),
	} {
		if !want.MatchString(said) {
			t.Errorf("the output does not match %s:\n%q", want, said)
		}
	}
	for _, line := range regexp.MustCompile(`[\r\n]+`).Split(controls.ReplaceAllString(said, ""), -1) {
		if n := utf8.RuneCountInString(line); n > 72 {
			t.Errorf("a line has %d columns, want at most 72: %s", n, line)
		}
	}
}

func TestNoColorVariableDisablesColour(t *testing.T) {
	t.Parallel()
	if said := inTerminal(t, 80, "NO_COLOR=1"); colours.MatchString(said) || !strings.Contains(said, "What does a terminal show?") {
		t.Errorf("with NO_COLOR the output is\n%q", said)
	}
}
