package e2e

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// job is a directory on a machine of a CI service, with the example repository in it.
type job struct {
	dir string
	env map[string]string
}

// briefly makes a command of the pipelines take less time.
const briefly = " --arms one --set load.open.duration=500ms"

// newJob copies examples/ci, and sets what the service sets.
func newJob(t *testing.T, env map[string]string) job {
	t.Helper()
	j := job{t.TempDir(), map[string]string{"RPCLAB_DATA_DIR": t.TempDir()}}
	maps.Copy(j.env, env)
	if err := os.CopyFS(j.dir, os.DirFS("../../examples/ci")); err != nil {
		t.Fatal(err)
	}
	return j
}

// delay makes the service in a directory of the job take this many milliseconds.
func (j job) delay(t *testing.T, dir, ms string) {
	t.Helper()
	j.edit(t, filepath.Join(dir, "server.py"), `"DELAY_MS", "20"`, `"DELAY_MS", "`+ms+`"`)
}

// edit replaces a text in a file of the job.
func (j job) edit(t *testing.T, name, from, to string) {
	t.Helper()
	path := filepath.Join(j.dir, name)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%s does not contain %s (%v)", path, from, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// bash runs a script as GitHub and GitLab do, and returns its output and exit code.
func (j job) bash(t *testing.T, script string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	c.Dir, c.Env = j.dir, os.Environ()
	for _, name := range slices.Sorted(maps.Keys(j.env)) {
		c.Env = append(c.Env, name+"="+j.env[name])
	}
	out, err := c.CombinedOutput()
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// parsed reads a YAML file of the repository.
func parsed[T any](t *testing.T, path string) (file T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file
}

type githubStep struct {
	ID, Uses, Run, If string
	With, Env         map[string]string
}

// githubAction is action.yml.
type githubAction struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct{ Steps []githubStep }
}

// run runs the steps of the action that have a script, with these inputs.
func (a githubAction) run(t *testing.T, j job, with map[string]string) (out string, code int) {
	t.Helper()
	values := map[string]string{"runner.temp": j.env["RUNNER_TEMP"], "toJSON(matrix)": cmp.Or(j.env["matrix"], "null")}
	for name, input := range a.Inputs {
		values["inputs."+name] = input.Default
	}
	for name, value := range with {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("action.yml has no input %s", name)
		}
		values["inputs."+name] = value
	}
	for _, step := range a.Runs.Steps {
		if step.Run == "" {
			continue
		}
		script := job{j.dir, maps.Clone(j.env)}
		for name, text := range step.Env {
			script.env[name] = regexp.MustCompile(`\${{ (\S+) }}`).ReplaceAllStringFunc(text, func(e string) string {
				value, ok := values[strings.TrimSuffix(strings.TrimPrefix(e, "${{ "), " }}")]
				if !ok {
					t.Fatalf("action.yml uses %s, which is neither an input nor an output of a step", e)
				}
				return value
			})
		}
		if added, err := os.ReadFile(j.env["GITHUB_PATH"]); err == nil {
			script.env["PATH"] = strings.ReplaceAll(string(added), "\n", ":") + cmp.Or(j.env["PATH"], os.Getenv("PATH"))
		}
		text, ended := script.bash(t, step.Run)
		if out += text; ended != 0 {
			return out, ended
		}
		said, _ := os.ReadFile(j.env["GITHUB_OUTPUT"]) // by a step before
		for line := range strings.Lines(string(said)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			values["steps."+step.ID+".outputs."+name] = value
		}
	}
	return out, 0
}

// newGitHubJob is newJob with what GitHub sets.
func newGitHubJob(t *testing.T, action, temp string) job {
	t.Helper()
	return newJob(t, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": action, "RUNNER_TEMP": temp,
		"GITHUB_PATH": filepath.Join(temp, "path"), "GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary.md"),
		"GITHUB_OUTPUT": filepath.Join(temp, "output"), "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64",
		"GITHUB_WORKFLOW": "latency", "GITHUB_JOB": "latency"})
}

// TestGitHubActionKeepsResultsApart uses the action twice in a job, and then once in each of several other jobs, with a
// program in place of rpclab.
func TestGitHubActionKeepsResultsApart(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := writePrograms(t, map[string]string{"rpclab": passes, "go": "[ -e \"$5\" ] || cp \"$(command -v rpclab)\" \"$5\"\n"}) // go -C DIR build -o FILE
	action, temp := parsed[githubAction](t, "action.yml"), t.TempDir()
	j := newGitHubJob(t, root, temp)
	j.env["PATH"] = bin + ":" + os.Getenv("PATH")
	uses := []struct{ command, name, variable, value string }{
		{command: "run one.yaml"},
		{command: "run two.yaml"},
		{command: "run one.yaml", name: "other"},
		{command: "run one.yaml", variable: "GITHUB_JOB", value: "other"},
		{command: "run one.yaml", variable: "GITHUB_WORKFLOW", value: "other"},
		{command: "run one.yaml", variable: "matrix", value: `{"python": "3.14"}`},
	}
	for _, use := range uses {
		in := job{j.dir, maps.Clone(j.env)}
		if use.variable != "" {
			in.env[use.variable] = use.value
		}
		out, code := action.run(t, in, map[string]string{"command": use.command, "name": use.name, "gate": "p50 ratio < 1.5"})
		if code != 0 || !strings.Contains(out, "::warning title=rpclab::there is no earlier result, so the gates pass") {
			t.Errorf("the first %+v: exit code %d\n%s", use, code, out)
		}
	}
	for _, file := range []string{"good/*/result.json", "reports/*/result.json"} {
		if all, err := filepath.Glob(filepath.Join(temp, "rpclab", file)); err != nil || len(all) != len(uses) {
			t.Errorf("of %d uses there are %q (%v)", len(uses), all, err)
		}
	}
}

// passes is a program in place of rpclab that writes a result. It passes, except in the directory BASE.
const passes = `[ "$1" != compare ] || { echo compared >&2; exit 0; }
while [ $# -gt 1 ]; do [ "$1" != --json ] || echo {} >"$2"; shift; done
[ "$PWD" != "$BASE" ]
`

// writePrograms writes scripts of sh to a directory.
func writePrograms(t *testing.T, scripts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// githubActionFailsOnSlowerCode runs the steps of action.yml with the inputs of the example's workflow: without
// an earlier result, with a last good one, and on a branch that is slower than its base. On a busy machine rpclab could
// not tell, and the job passes.
func githubActionFailsOnSlowerCode(t *testing.T) {
	t.Helper()
	type workflow struct {
		Jobs map[string]struct{ Steps []githubStep }
	}
	var with map[string]string
	for _, step := range parsed[workflow](t, "examples/ci/.github/workflows/latency.yml").Jobs["latency"].Steps {
		if step.Uses == "./.rpclab" {
			with = step.With
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	action, temp := parsed[githubAction](t, "action.yml"), t.TempDir()
	j := newGitHubJob(t, root, temp)
	with["command"] += briefly
	with["accept"], with["base"], with["undecided"] = "", "", "pass" // on a busy machine
	if out, code := action.run(t, j, with); code != 0 || !strings.Contains(out, "no earlier result, so the gates pass") {
		t.Fatalf("the first run: exit code %d\n%s", code, out)
	}
	if out, code := action.run(t, j, with); code != 0 || !strings.Contains(out, "rpclab: gates: ") {
		t.Errorf("the same code again: exit code %d\n%s", code, out)
	}
	if keys, err := os.ReadFile(j.env["GITHUB_OUTPUT"]); err != nil || !regexp.MustCompile(`^(command=[0-9a-f]{40}\nkey=rpclab-Linux-X64-[0-9a-f]{40}\nkept=true\n){2}$`).Match(keys) {
		t.Errorf("the name of the last good result is %q (%v)", keys, err)
	}
	all, err := filepath.Glob(filepath.Join(temp, "rpclab/good/*/result.json"))
	if err != nil || len(all) != 1 {
		t.Fatalf("the last good results are %q (%v), want one", all, err)
	}
	good := all[0]
	before, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(j.dir, "base"), os.DirFS("../../examples/ci")); err != nil {
		t.Fatal(err)
	}
	j.delay(t, ".", "80")
	with["base"] = "base"
	undisturbed(t, func(_ int, wrong func(string, ...any)) {
		if out, code := action.run(t, j, with); code != 1 || !strings.Contains(out, "\n::error title=rpclab::") || !strings.Contains(out, "failed: the ratio is") {
			wrong("code that takes four times as long as its base: exit code %d\n%s", code, out)
		}
	})
	if after, err := os.ReadFile(good); err != nil || string(after) != string(before) {
		t.Errorf("a failed run replaced the last good result (%v)", err)
	}
	summary, err := os.ReadFile(j.env["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.Contains(string(summary), "## Compare ") || !strings.Contains(string(summary), "## latency: ") {
		t.Errorf("the summary has no comparison or no report (%v):\n%s", err, summary)
	}
}

// TestGitLabJobFailsOnSlowerCode runs the script of the example's pipeline on a branch that is as fast as its base,
// and on one that is slower.
func TestGitLabJobFailsOnSlowerCode(t *testing.T) {
	t.Parallel()
	type pipeline struct {
		Latency struct {
			Variables    map[string]string
			BeforeScript []string `yaml:"before_script"`
			Script       []string
		}
	}
	latency := parsed[pipeline](t, "examples/ci/.gitlab-ci.yml").Latency
	upstream := t.TempDir()
	j := newJob(t, map[string]string{"RPCLAB_REPOSITORY": "file://" + upstream, "RPCLAB_VERSION": "main",
		"GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@example.org"})
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	j.env["TREE"], j.env["UPSTREAM"] = tree, upstream
	// The job clones the repository as it is, with what is not committed.
	out, code := j.bash(t, `
		git init --quiet --bare "$UPSTREAM"
		git -C "$UPSTREAM" config receive.shallowUpdate true
		commit=$(git -C "$TREE" stash create)
		git -C "$TREE" push --quiet "$UPSTREAM" "${commit:-HEAD}:refs/heads/main"
		git init --quiet --initial-branch main .
		git add .
		git commit --quiet --message base
		git clone --quiet --bare . "$UPSTREAM/orders"
		git remote add origin "file://$UPSTREAM/orders"
		git rev-parse HEAD`)
	if code != 0 {
		t.Fatal(out)
	}
	lines := strings.Fields(out)
	j.env["CI_MERGE_REQUEST_DIFF_BASE_SHA"] = lines[len(lines)-1]
	maps.Copy(j.env, latency.Variables)
	j.env["COMMAND"] += briefly
	j.env["UNDECIDED"] = "pass" // on a busy machine
	script := strings.Join(slices.Concat(latency.BeforeScript, latency.Script), "\n")
	if out, code := j.bash(t, script); code != 0 || !strings.Contains(out, "rpclab: gates: ") {
		t.Fatalf("the same code: exit code %d\n%s", code, out)
	}
	for _, file := range []string{"reports/gates.junit.xml", "reports/report.junit.xml", "reports/report.html"} {
		if _, err := os.Stat(filepath.Join(j.dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(j.dir, "good")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a merge request replaced the last good run of the default branch (%v)", err)
	}
	j.delay(t, ".", "80")
	clean := "rm -rf base .rpclab && git worktree prune\n"
	j.env["UNDECIDED"] = "fail" // as by default: the job fails, too, if the machine stays too busy to tell
	undisturbed(t, func(try int, wrong func(string, ...any)) {
		out, code := j.bash(t, clean+script)
		told := strings.Contains(out, "failed: the ratio is") || try == 3 && strings.Contains(out, "could not tell: ")
		if code != 1 || !told {
			wrong("code that takes four times as long as its base: exit code %d\n%s", code, out)
		}
	})
}

// A pull request runs code that nobody has reviewed, so the jobs of the example may read the repository and nothing else, and
// a merge request may not replace the last good run.
func TestPipelinesOfTheExampleMayDoNoMoreThanTheyNeed(t *testing.T) {
	t.Parallel()
	type workflow struct{ Permissions map[string]string }
	got := parsed[workflow](t, "examples/ci/.github/workflows/latency.yml").Permissions
	if want := map[string]string{"contents": "read"}; !maps.Equal(got, want) {
		t.Errorf("the workflow has the permissions %v, want %v", got, want)
	}
	type pipeline struct {
		Latency struct {
			Rules []struct {
				If        string
				Variables map[string]string
			}
			Variables map[string]string
			Cache     struct{ Policy string }
		}
	}
	latency := parsed[pipeline](t, "examples/ci/.gitlab-ci.yml").Latency
	for _, rule := range latency.Rules {
		want := "pull-push"
		if strings.Contains(rule.If, "merge_request_event") {
			want = "pull"
		}
		set := maps.Clone(latency.Variables)
		maps.Copy(set, rule.Variables)
		if policy := os.Expand(latency.Cache.Policy, func(name string) string { return set[name] }); policy != want {
			t.Errorf("the cache of jobs if %s has the policy %q, want %q", rule.If, policy, want)
		}
	}
	if len(latency.Rules) != 2 {
		t.Errorf("the job of GitLab has %d rules, want one for merge requests and one for the default branch", len(latency.Rules))
	}
}
