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
arms: {a-way-with-a-rather-long-name: {route: clusterip}, spread: {route: endpointslice}}
rounds: 2
`

// inTerminal is what a run writes to a terminal so wide.
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
	_, _ = io.Copy(&said, terminal) // a terminal ends by an error
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return said.String()
}

var (
	colours  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	controls = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")
)

// The line of progress is overwritten, has the remaining time and bars of the backends, and
// neither it nor the report is wider than the terminal.
func TestProgressInATerminal(t *testing.T) {
	t.Parallel()
	said := inTerminal(t, 72)
	if !colours.MatchString(said) {
		t.Error("it has no colours")
	}
	for _, want := range []*regexp.Regexp{
		regexp.MustCompile(`\r\x1b\[K\[\d/4, \d+s left\] round 2`), regexp.MustCompile(`round \d  spread  .*/s, p99 .*[▁-█]{3}`),
	} {
		if !want.MatchString(said) {
			t.Errorf("it does not show %s:\n%q", want, said)
		}
	}
	for _, line := range regexp.MustCompile(`[\r\n]+`).Split(controls.ReplaceAllString(said, ""), -1) {
		if n := utf8.RuneCountInString(line); n > 72 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestNoColor(t *testing.T) {
	t.Parallel()
	if said := inTerminal(t, 80, "NO_COLOR=1"); colours.MatchString(said) || !strings.Contains(said, "What does a terminal show?") {
		t.Errorf("it writes\n%q", said)
	}
}
