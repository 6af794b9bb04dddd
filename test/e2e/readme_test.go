package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheCommandsOfTheReadmeWork runs every one of them, in order, as they stand there.
func TestTheCommandsOfTheReadmeWork(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	data := t.TempDir()
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "#")
			args, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/rpclab ")
			if !ok {
				t.Errorf("the README has a command that this test does not know: %s", line)
				continue
			}
			// A file that a command writes goes where this test cleans up.
			args = regexp.MustCompile(`(--json|--md) (\S+)`).ReplaceAllString(args, "$1 "+data+"/$2")
			if s := rpclabIn(t, data, strings.Fields(args)...); s.code != 0 {
				t.Errorf("rpclab %s: exit code %d\n%s", args, s.code, s.stderr)
			}
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were found", ran)
	}
}

// TestTheOutputInTheReadmeIsOfThisProgram: the sections and arms that it shows are
// those that a run prints; its figures are one machine's.
func TestTheOutputInTheReadmeIsOfThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(readme), "```\nchannels: ")
	if !ok {
		t.Fatal("the README shows no output of the first command")
	}
	shown, _, _ = strings.Cut(shown, "```")
	golden, err := os.ReadFile("../../internal/report/testdata/channels.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"Verdicts\n", "Beside latency\n", "Balance\n", "Confounds: what else differs between the published arms\n", "Cost: CPU time per call and peak memory\n", "Errors\n"} {
		if !strings.Contains(shown, title) || !strings.Contains(string(golden), title) {
			t.Errorf("the section %q has to be in the README and in the report", title)
		}
	}
}
