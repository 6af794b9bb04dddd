package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// TestPipelinesOfTheExampleFailIfCallsFail runs the commands of the example's pipelines and of docs/ci.md with a service that fails every
// fifth call, and that is as fast as before. There is no earlier result, so only assertions can fail.
func TestPipelinesOfTheExampleFailIfCallsFail(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for _, b := range pages.Blocks(string(page)) {
		if b.Language == "yaml" && strings.HasPrefix(b.Text, "- uses") {
			commands["docs/ci.md, GitHub"] = steps(t, b.Text)[0].With["command"]
		}
		if command := regexp.MustCompile(`COMMAND="([^"]*)"|COMMAND='([^']*)'`).FindStringSubmatch(b.Text); command != nil {
			commands["docs/ci.md, other CI systems"] = command[1] + command[2]
		}
	}
	type workflow struct {
		Jobs map[string]struct{ Steps []githubStep }
	}
	for _, step := range parsed[workflow](t, "examples/ci/.github/workflows/latency.yml").Jobs["latency"].Steps {
		if step.Uses == "./.rpclab" {
			commands["GitHub"] = step.With["command"]
		}
	}
	type pipeline struct {
		Latency struct{ Variables map[string]string }
	}
	commands["GitLab"] = parsed[pipeline](t, "examples/ci/.gitlab-ci.yml").Latency.Variables["COMMAND"]
	if len(commands) != 4 {
		t.Errorf("there are the commands %q, want four", commands)
	}
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for where, command := range commands {
		if ran[command] {
			continue
		}
		ran[command] = true
		j := newJob(t, map[string]string{"PATH": filepath.Dir(testkit.Rpclab(t)) + ":" + os.Getenv("PATH"), "OUT": "reports", "GOOD": "good.json",
			"GATE": "p50 ratio < 1.5", "COMMAND": command + briefly})
		j.edit(t, "server.py", "self.send_response(200)",
			"Orders.calls = getattr(Orders, \"calls\", 0) + 1; self.send_response(200 if Orders.calls % 5 else 500)")
		out, code := j.bash(t, gate)
		if code != 1 || !strings.Contains(out, "--assert errors < 1%: it is ") {
			t.Errorf("%s: %s: exit code %d, want 1 and the assertion\n%s", where, command, code, out)
		}
		if _, err := os.Stat(filepath.Join(j.dir, "good.json")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s: the result became the last good one (%v)", where, command, err)
		}
	}
}
