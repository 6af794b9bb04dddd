package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// TestTheYAMLOfThePageOnPipelines executes the YAML of docs/ci.md: it runs the experiment, compares the inputs of the action
// with action.yml, and executes the step that comments on a pull request, with a program in place of gh.
func TestTheYAMLOfThePageOnPipelines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	executed := 0
	for _, b := range pages.Blocks(string(text)) {
		if b.Language != "yaml" {
			continue
		}
		executed++
		switch first, _, _ := strings.Cut(b.Text, ":"); first {
		case "experiment":
			runExperimentOfThePage(t, b.Text)
		case "- uses":
			checkInputs(t, steps(t, b.Text)[0])
		case "- if":
			comment(t, steps(t, b.Text)[0])
		default:
			t.Errorf("the test does not know what to do with this part of the page:\n%s", b.Text)
		}
	}
	if executed != 3 {
		t.Errorf("the page has %d blocks of YAML, want an experiment and two steps", executed)
	}
}

func steps(t *testing.T, text string) (all []githubStep) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &all); err != nil || len(all) != 1 {
		t.Fatalf("%d steps, %v; want one:\n%s", len(all), err, text)
	}
	return all
}

// runExperimentOfThePage runs the experiment with rpclab's server in place of ./orders.
func runExperimentOfThePage(t *testing.T, text string) {
	t.Helper()
	proto, err := os.ReadFile("../../api/rpclab/v1/greeter.proto")
	if err != nil {
		t.Fatal(err)
	}
	dir := writePrograms(t, map[string]string{"orders": "exec '" + testkit.Rpclab(t) + "' server \"$@\"\n"})
	experiment := strings.NewReplacer("shop.Orders/Get", sayHello, "{id: 1}", "{name: you}").Replace(text)
	for name, text := range map[string]string{"latency.yaml": experiment, "orders.proto": string(proto)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := rpclabIn(t, t.TempDir(), "run", filepath.Join(dir, "latency.yaml"), "--rounds", "1", "--set", "load.open.duration=500ms")
	if s.code != 0 {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// checkInputs requires that a step has only inputs of the action, and all that it needs.
func checkInputs(t *testing.T, step githubStep) {
	t.Helper()
	inputs := parsed[githubAction](t, "action.yml").Inputs
	for name := range step.With {
		if _, ok := inputs[name]; !ok {
			t.Errorf("action.yml has no input %s", name)
		}
	}
	for name, input := range inputs {
		if _, ok := step.With[name]; input.Required && !ok {
			t.Errorf("the step lacks the input %s", name)
		}
	}
}

// comment runs the step with and without a comparison.
func comment(t *testing.T, step githubStep) {
	t.Helper()
	if !strings.Contains(step.If, "!github.event.pull_request.head.repo.fork") {
		t.Errorf("a pull request from a fork may not write comments, and the step runs if %s", step.If)
	}
	reports := t.TempDir()
	bin := writePrograms(t, map[string]string{"gh": `echo "gh $*"` + "\n"})
	j := job{t.TempDir(), map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "REPORTS": reports, "PR": "7", "GH_TOKEN": "x"}}
	for name := range step.Env {
		if j.env[name] == "" {
			t.Errorf("the step sets %s, which it does not use", name)
		}
	}
	if out, code := j.bash(t, step.Run); code != 0 || out != "" {
		t.Errorf("without a comparison: exit code %d, %q; want no comment", code, out)
	}
	file := filepath.Join(reports, "comparison.md")
	if err := os.WriteFile(file, []byte("slower"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := j.bash(t, step.Run); code != 0 || out != "gh pr comment 7 --body-file "+file+"\n" {
		t.Errorf("with a comparison: exit code %d, %q", code, out)
	}
}
