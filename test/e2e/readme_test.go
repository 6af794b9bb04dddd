package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/testkit/pages"
)

// TestReadmeCommandsWork runs the commands of the README that name it, in order.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	found := 0
	for _, block := range pages.TestedBy(t, "../../README.md") {
		for _, line := range block.Lines() {
			args, ok := strings.CutPrefix(line, "go run ./cmd/rpclab ")
			if !ok {
				t.Errorf("the README has a command without \"go run ./cmd/rpclab\": %s", line)
				continue
			}
			// Share --quick runs with other tests.
			if fields := strings.Fields(args); len(fields) == 3 && fields[0] == "run" && fields[2] == "--quick" {
				if !slices.Contains(timed, fields[1]) { // see TestEveryTimedExperimentRunsScaledDown
					quick(t, fields[1])
				}
				found++
				continue
			}
			// Write files to a temporary directory.
			args = regexp.MustCompile(`(--json|--md) (\S+)`).ReplaceAllString(args, "$1 "+data+"/$2")
			c := command(t, data, strings.Fields(args)...)
			c.Dir = "../.."
			if s, err := ran(c); err != nil || s.code != 0 {
				t.Errorf("rpclab %s: exit code %d\n%s", args, s.code, s.stderr)
			}
			found++
		}
	}
	if found < 6 {
		t.Errorf("the README has %d commands, want at least 6", found)
	}
}

// TestReadmeOutputMatchesTheReport checks that the README shows the arms and columns of the report, in
// at most 15 lines. Its numbers are those of one machine.
func TestReadmeOutputMatchesTheReport(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(readme), "```\nchannels: ")
	if !ok {
		t.Fatal("the README shows no output of the first command")
	}
	shown, _, _ = strings.Cut(shown, "```")
	golden, err := os.ReadFile("../../internal/report/testdata/channels-summary.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"A channel per call, one shared, or", "p50 difference", "slower: +", "baseline", "the same: ", "A/A control: "} {
		if !strings.Contains(shown, part) || !strings.Contains(string(golden), part) {
			t.Errorf("want %q in the README and in the report", part)
		}
	}
	for _, name := range []string{"new-channel", "shared", "kuberesolver", "headless", "endpointslice", "pool", "shared-again"} {
		if !strings.Contains(shown, "\n"+name+" ") {
			t.Errorf("the output in the README lacks the arm %s", name)
		}
	}
	if n := strings.Count(shown, "\n"); n > 15 {
		t.Errorf("the output in the README has %d lines, want at most 15", n)
	}
}
