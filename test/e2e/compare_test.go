package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// small is one arm whose p50 is the server's delay, in trials of a fifth of a second.
const small = `experiment: small
question: How long does a call take?
defaults:
  workload: {greet: {delay: 5ms}}
  caller: {kind: wire, warmup: 5}
  server: {replicas: 1, fresh: false}
  route: direct
  load: {sequence: 30}
arms:
  one: {}
rounds: 4
`

// storeRun runs the small experiment and returns the ID of the stored run.
func storeRun(t *testing.T, data string, args ...string) string {
	t.Helper()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	s := rpclabIn(t, data, append([]string{"run", file}, args...)...)
	id := regexp.MustCompile("rpclab report ([^` ]+)").FindStringSubmatch(s.stdout)
	if s.code != 0 || id == nil {
		t.Fatalf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	return id[1]
}

// storedRun returns the newest stored run.
func storedRun(t *testing.T, data string) result.Document {
	t.Helper()
	return resulttest.Read(t, strings.NewReader(rpclabIn(t, data, "report", "latest", "--json", "-").stdout))
}

func TestFilesAreReportedAndComparedWithoutAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noStore := filepath.Join(dir, "no-directory")
	if err := os.WriteFile(noStore, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	experiment, before, after := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json")
	if err := os.WriteFile(experiment, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", experiment, "--no-store", "--json"}
	for _, c := range []struct {
		args []string
		code int
	}{
		{append(run, before), 0}, {append(run, after, "--gate", "p50 ratio < 9", "--allow", "busy", "--against", before), 0},
		{[]string{"report", before}, 0}, {[]string{"compare", before, after, "--allow", "busy"}, 0},
		{[]string{"report", "latest"}, 3}, {[]string{"compare", before, "latest"}, 3},
	} {
		if s := rpclabIn(t, noStore, c.args...); s.code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, s.code, c.code, s.stdout, s.stderr)
		}
	}
}

func TestAGateFailsOnARealRegressionOnly(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	// The delays are long and far apart, because other tests run at the same time.
	delayed := func(delay string) string { return storeRun(t, data, "--set", "workload.greet.delay="+delay) }
	before, same, slower := delayed("20ms"), delayed("20ms"), delayed("80ms")
	gate := []string{"--gate", "p50 ratio < 2", "--allow", "busy"}

	s := rpclabIn(t, data, append([]string{"compare", before, same}, gate...)...)
	if s.code != 0 || strings.Contains(s.stdout, "FAILED") || !strings.Contains(s.stdout, "p50 ratio < 2") {
		t.Errorf("equal runs: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}

	junit, markdown, document := filepath.Join(data, "gates.xml"), filepath.Join(data, "summary.md"), filepath.Join(data, "out.json")
	const another = "workload.greet.delay: 20ms in A, 80ms in B (--allow workload.greet.delay"
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "one: " + another},
		{gate, 1, "one is not compared, so no gate applies: " + another},
		{append(gate, "--undecided", "pass"), 0, "rpclab: gates: could not tell (--undecided pass): 0 passed, 0 failed, 1 undecided"},
	} {
		s := rpclabIn(t, data, append([]string{"compare", before, slower, "--junit", junit, "--md", markdown}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.stderr, c.says) {
			t.Errorf("another workload, %v: exit code %d, want %d and %q in\n%s", c.args, s.code, c.code, c.says, s.stderr)
		}
	}
	for path, part := range map[string]string{junit: "<skipped message=", markdown: "### Not compared"} {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("another workload: %s does not contain %q: %v\n%s", path, part, err, text)
		}
	}

	if err := os.WriteFile(markdown, []byte("an existing file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s = rpclabIn(t, data, append([]string{"compare", before, slower, "--allow", "workload.greet.delay",
		"--junit", junit, "--md", markdown, "--json", document}, gate...)...)
	if s.code != 1 || !strings.Contains(s.stderr, "rpclab: one --gate p50 ratio < 2 failed: the ratio is ") {
		t.Errorf("a regression: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	for path, part := range map[string]string{junit: "<failure message=", markdown: "❌ failed"} {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s does not contain %q: %v\n%s", path, part, err, text)
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	c := resulttest.ReadComparison(t, bytes.NewReader(text))
	if len(c.Gates) != 1 || c.Gates[0].Outcome != "failed" || c.Gates[0].CI[0] < 2 {
		t.Errorf("gates are %+v, want one that failed", c.Gates)
	}
}

func TestCompareMergesSeveralRuns(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var ids []string
	for range 4 {
		ids = append(ids, storeRun(t, data, "--rounds", "1"))
	}
	alone := rpclabIn(t, data, "compare", ids[0], ids[1], "--gate", "p50 ratio < 9", "--allow", "busy")
	if alone.code != 1 || !strings.Contains(alone.stderr, "1 round in one of the runs; at least 4 are needed in both") {
		t.Errorf("one trial against one: exit code %d\n%s", alone.code, alone.stderr)
	}
	all, copies := strings.Join(ids, ","), strings.Join(copyRuns(t, data, ids, func(*result.Document) {}), ",")
	s := rpclabIn(t, data, "compare", all, copies, "--gate", "p50 ratio < 9", "--allow", "busy")
	if s.code != 0 || s.stderr != "rpclab: gates: passed: 1 passed, 0 failed, 0 undecided\n" || !strings.Contains(s.stdout, " passed\n") || !strings.Contains(s.stdout, ids[0]+" and 3 more") {
		t.Errorf("four against four: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	if s := rpclabIn(t, data, "compare", all, copies+","+ids[0]); s.code != 2 || !strings.Contains(s.stderr, "run "+ids[0]+" is part of A and of B: name it on one side") {
		t.Errorf("a run on both sides: exit code %d\n%s", s.code, s.stderr)
	}
	if s := rpclabIn(t, data, "compare", ids[0]+","+ids[0], ids[1]); s.code != 2 || !strings.Contains(s.stderr, "is listed twice") {
		t.Errorf("the same run twice in a list: exit code %d\n%s", s.code, s.stderr)
	}
}

// 30 calls are too few for a p99.
func TestAnUndecidedGateFailsUnlessToldToPass(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id := storeRun(t, data)
	args := []string{"compare", id, id, "--gate", "p99 ratio < 1.05"}
	for _, c := range []struct {
		code int
		more []string
		last string
	}{
		{1, nil, "rpclab: gates: could not tell (--undecided fail): 0 passed, 0 failed, 1 undecided\n"},
		{0, []string{"--undecided", "pass"}, "rpclab: gates: could not tell (--undecided pass): 0 passed, 0 failed, 1 undecided\n"},
	} {
		s := rpclabIn(t, data, append(args, c.more...)...)
		if s.code != c.code || !strings.Contains(s.stderr, "rpclab could not tell: in A, a trial of one has 30 calls") || !strings.Contains(s.stderr, c.last) {
			t.Errorf("%v: exit code %d, want %d and %q in\n%s", c.more, s.code, c.code, c.last, s.stderr)
		}
	}
	if s := rpclabIn(t, data, append(args, "--undecided", "maybe")...); s.code != 2 || !strings.Contains(s.stderr, "--undecided maybe: must be fail or pass") {
		t.Errorf("exit code %d, want 2\n%s", s.code, s.stderr)
	}
}

func TestRunsOfTwoMachinesAreComparedWithAWarning(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id := storeRun(t, data)
	other := copyRuns(t, data, []string{id}, func(d *result.Document) { d.Machine.Model, d.Machine.CPUs = "Another CPU", 1000 })
	s := rpclabIn(t, data, "compare", id, other[0])
	for _, part := range []string{"Another machine: CPU model: ", "in A, Another CPU in B", "Another machine: CPUs: ", ", 1000 in B"} {
		if s.code != 0 || !strings.Contains(strings.Join(strings.Fields(s.stdout), " "), part) {
			t.Errorf("exit code %d, want 0 and a report with %q:\n%s%s", s.code, part, s.stdout, s.stderr)
		}
	}
}

// A reader such as head -1 may close the pipe of standard output. That ends the program, but files do not go there.
func TestFilesAreWrittenIfNobodyReadsStandardOutput(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id := storeRun(t, data, "--rounds", "1")
	read, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"--json": "a.json", "--md": "a.md", "--html": "a.html", "--csv": "a.csv", "--junit": "a.xml"}
	args := []string{"report", id}
	for flag, name := range files {
		args = append(args, flag, filepath.Join(data, name))
	}
	c := command(t, data, args...)
	c.Stdout = closed
	ended := c.Run()
	for flag, name := range files {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v (%v)", flag, err, ended)
		}
	}
}

// copyRuns stores copies of runs with a change, and returns their IDs.
func copyRuns(t *testing.T, data string, ids []string, change func(*result.Document)) (copies []string) {
	t.Helper()
	store, err := result.OpenStore(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		d, _, err := store.Get(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		d.ID = result.NewID(time.Now())
		change(&d)
		if err := store.Save(context.Background(), d); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, d.ID)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return copies
}

func TestLoadWritesAssertionsAsJUnit(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	junit := filepath.Join(t.TempDir(), "out.xml")
	s := rpclab(t, "load", "--call", sayHello, "--calls", "100", "--junit", junit, "--assert", "errors == 0", "--assert", "max < 1ns", address)
	text, err := os.ReadFile(junit)
	if s.code != 1 || err != nil || !strings.Contains(string(text), `name="load"`) || !strings.Contains(string(text), `tests="2" failures="1"`) {
		t.Errorf("exit code %d, %v\n%s\n%s", s.code, err, s.stderr, text)
	}
}

func TestRunWritesAssertionsAsJUnit(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file, junit := filepath.Join(data, "small.yaml"), filepath.Join(data, "out.xml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	s := rpclabIn(t, data, "run", file, "--rounds", "1", "--junit", junit, "--assert", "errors == 0", "--assert", "p50 < 1ms")
	text, err := os.ReadFile(junit)
	if s.code != 1 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", s.code, err, s.stderr)
	}
	for _, part := range []string{`tests="2" failures="1"`, `name="one: errors == 0"`, `<failure message="p50 &lt; 1ms: it is `} {
		if !strings.Contains(string(text), part) {
			t.Errorf("want %s in\n%s", part, text)
		}
	}
	// rpclab writes to a pipe directly, because it cannot replace a pipe like a file.
	s = rpclabIn(t, data, "report", "latest", "--full", "--junit", "/dev/stdout")
	if s.code != 0 || !strings.Contains(s.stdout, "\nResults\n") || !strings.Contains(s.stdout, `<testsuite name="small"`) {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

// TestThePipelineScriptInTheDocsWorks runs the script in docs/method/comparing.md.
func TestThePipelineScriptInTheDocsWorks(t *testing.T) {
	t.Parallel()
	blocks := pages.TestedBy(t, "../../docs/method/comparing.md")
	if len(blocks) != 1 {
		t.Fatalf("the page has %d scripts, want 1", len(blocks))
	}
	dir := t.TempDir()
	// The script writes its files to a temporary directory.
	text := regexp.MustCompile(`\b(before|after|gates|summary)\.(json|xml|md)`).ReplaceAllString(blocks[0].Text, dir+"/$0")
	c := exec.Command("bash", "-c", text)
	c.Dir = "../.."
	c.Env = append(os.Environ(), "RPCLAB_DATA_DIR="+dir, "PATH="+filepath.Dir(testkit.Rpclab(t))+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	// On a busy machine the load generator is late, and a gate that rpclab cannot tell fails.
	if undecided := strings.Contains(string(out), "rpclab: gates: could not tell (--undecided fail): "); err != nil && !undecided {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"before.json", "after.json", "gates.xml", "summary.md"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not written: %v", name, err)
		}
	}
}
