package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// TestGateChecksItsVariables runs deploy/ci/gate.sh with a program in place of rpclab, which passes everywhere except on
// the base branch, where an assertion fails.
func TestGateChecksItsVariables(t *testing.T) {
	t.Parallel()
	bin, base := writePrograms(t, map[string]string{"rpclab": passes}), t.TempDir()
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, value string
		code        int
		want        string
	}{
		{"BASE", base, 0, "compared"},
		{"COMMAND", "run x.yaml --set 'a=b --rounds 6", 2, "COMMAND cannot be split into words: close its quotes"},
		{"ACCEPT", "yes", 2, "ACCEPT is yes: use true or false"},
		{"MISSING", "Fail", 2, "MISSING is Fail: use pass or fail"},
		{"UNDECIDED", "no", 2, "UNDECIDED is no: use pass or fail"},
	} {
		j := newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OUT": "reports", "COMMAND": "run x.yaml", "GATE": "p50 ratio < 1.5"})
		j.env[test.name] = test.value
		if out, code := j.bash(t, gate); code != test.code || !strings.Contains(out, test.want) {
			t.Errorf("%s %q: exit code %d, want %d and %q:\n%s", test.name, test.value, code, test.code, test.want, out)
		}
	}
}

// TestGateComparesAfterAnEarlierResultWasMissing runs deploy/ci/gate.sh twice: MISSING fails only the first job.
func TestGateComparesAfterAnEarlierResultWasMissing(t *testing.T) {
	t.Parallel()
	bin := writePrograms(t, map[string]string{"rpclab": passes})
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OUT": "reports", "COMMAND": "run x.yaml", "GATE": "p50 ratio < 1.5",
		"MISSING": "fail", "GOOD": "good.json", "GITHUB_OUTPUT": "output", "GITHUB_ACTIONS": "true"})
	for i, want := range []string{"::error title=rpclab::there is no earlier result, so the gates fail", "compared"} {
		if out, code := j.bash(t, gate); code != 1-i || !strings.Contains(out, want) {
			t.Errorf("job %d: exit code %d, want %d and %q:\n%s", i+1, code, 1-i, want, out)
		}
	}
	if said, err := os.ReadFile(filepath.Join(j.dir, "output")); err != nil || string(said) != "kept=true\nkept=true\n" {
		t.Errorf("the output says %q (%v), want that both results are kept", said, err)
	}
}

// TestGateKeepsTheLastGoodResultUntilASlowerOneIsAccepted runs deploy/ci/gate.sh with a program in place of rpclab, to which
// slow is slower than fast, and with which an assertion on broken fails.
func TestGateKeepsTheLastGoodResultUntilASlowerOneIsAccepted(t *testing.T) {
	t.Parallel()
	bin := writePrograms(t, map[string]string{"rpclab": `what=$2
if [ "$1" = compare ]; then
  [ "$(cat "$2" "$3")" != "$(printf 'fast\nslow')" ]
  exit
fi
while [ $# -gt 1 ]; do [ "$1" != --json ] || echo "$what" >"$2"; shift; done
[ "$what" != broken ]
`})
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OUT": "reports", "GATE": "p50 ratio < 1.5", "GOOD": "good.json", "GITHUB_ACTIONS": "true"})
	for i, job := range []struct {
		what, accept string
		code         int
		good         string
	}{
		{"fast", "", 0, "fast"}, {"slow", "", 1, "fast"}, {"slow", "false", 1, "fast"}, {"broken", "true", 1, "fast"},
		{"slow", "true", 0, "slow"}, {"slow", "", 0, "slow"}, {"fast", "", 0, "fast"},
	} {
		j.env["COMMAND"], j.env["ACCEPT"] = "run "+job.what, job.accept
		out, code := j.bash(t, gate)
		good, err := os.ReadFile(filepath.Join(j.dir, "good.json"))
		if accepted := strings.Contains(out, "::warning title=rpclab::ACCEPT is true, so the result is accepted\n"); code != job.code || string(good) != job.good+"\n" || accepted != (job.accept == "true" && code == 0) {
			t.Errorf("job %d, %s, ACCEPT %q: exit code %d, want %d; the last good result is %q (%v), want %s\n%s", i+1, job.what, job.accept, code, job.code, good, err, job.good, out)
		}
	}
}

// TestGateChecksGatesAndReplacesDamagedResults runs deploy/ci/gate.sh with gates that are wrong although there is no earlier result,
// and with a last good result that rpclab cannot read. A program in place of rpclab repeats the result of one load.
func TestGateChecksGatesAndReplacesDamagedResults(t *testing.T) {
	t.Parallel()
	const load = "load --service orders.yaml --call list --rate 50 --duration 100ms --rounds 4"
	result := filepath.Join(t.TempDir(), "result.json")
	j := newJob(t, nil)
	if out, code := j.bash(t, "'"+testkit.Rpclab(t)+"' "+load+" --json '"+result+"'"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	bin := writePrograms(t, map[string]string{"rpclab": `[ "$1" != compare ] || exec '` + testkit.Rpclab(t) + `' "$@"
[ -f orders.yaml ] || exit 2
while [ $# -gt 1 ]; do [ "$1" != --json ] || cp '` + result + `' "$2"; shift; done
`})
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	const wrong, right, cut = "p50 ratiooo < 1.5", "p50 ratio < 1.5", `{"schema": "rpclab.result/v1", "id": "2026`
	damaged := "good.json cannot be compared with: run the job once with ACCEPT=true, which replaces it, or remove it"
	for _, test := range []struct {
		name, gate, good, base, accept string
		code                           int
		want                           string
		kept                           bool
	}{
		{name: "no earlier result", gate: wrong, code: 2, want: `::error title=rpclab::--gate "p50 ratiooo < 1.5"`},
		{name: "no earlier result, accepted", gate: wrong, accept: "true", code: 2, want: `::error title=rpclab::--gate "p50 ratiooo < 1.5"`},
		{name: "a base that cannot run", gate: wrong, base: t.TempDir(), code: 2, want: `::error title=rpclab::--gate "p50 ratiooo < 1.5"`},
		{name: "a cut result", gate: right, good: cut, code: 2, want: "::error title=rpclab::" + damaged},
		{name: "an empty result", gate: right, good: "\n", code: 2, want: damaged},
		{name: "a cut result and a wrong gate, accepted", gate: wrong, good: cut, accept: "true", code: 2, want: `--gate "p50 ratiooo < 1.5"`},
		{name: "a cut result, accepted", gate: right, good: cut, accept: "true", want: "ACCEPT is true, so the result is accepted.", kept: true},
	} {
		j = newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OUT": "reports", "GITHUB_ACTIONS": "true", "GOOD": "good.json",
			"COMMAND": load, "GATE": test.gate, "BASE": test.base, "ACCEPT": test.accept})
		path := filepath.Join(j.dir, "good.json")
		if test.good != "" {
			if err := os.WriteFile(path, []byte(test.good), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, code := j.bash(t, gate)
		good, _ := os.ReadFile(path) // "" if there is none
		if kept := string(good) != test.good; code != test.code || !strings.Contains(out, test.want) || kept != test.kept {
			t.Errorf("%s: exit code %d, want %d and %q; kept %t, want %t\n%s", test.name, code, test.code, test.want, kept, test.kept, out)
		}
	}
}

// TestGateAnnotatesWhatFailedInTheCommand runs deploy/ci/gate.sh with a program in place of rpclab that has gates and assertions of
// its own.
func TestGateAnnotatesWhatFailedInTheCommand(t *testing.T) {
	t.Parallel()
	bin := writePrograms(t, map[string]string{"rpclab": `echo the report
echo 'rpclab: one --assert p99 < 1ms: it is 5 ms
rpclab: new --gate p50 ratio < 1.1 failed: the ratio is 2 (1.9–2.1)
rpclab: old --gate p50 ratio < 1.1: rpclab could not tell: too few rounds' >&2
exit 1
`})
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OUT": "reports", "COMMAND": "run x.yaml", "GITHUB_ACTIONS": "true"})
	out, code := j.bash(t, gate)
	for _, want := range []string{
		"the report\n", "rpclab: one --assert p99 < 1ms: it is 5 ms\n",
		"::error title=rpclab::one --assert p99 < 1ms: it is 5 ms\n",
		"::error title=rpclab::new --gate p50 ratio < 1.1 failed: the ratio is 2 (1.9–2.1)\n",
		"::warning title=rpclab::old --gate p50 ratio < 1.1: rpclab could not tell: too few rounds\n",
		"::error title=rpclab::rpclab ended with exit code 1\n",
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want 1 and %q in\n%s", code, want, out)
		}
	}
}

// TestGateRunsLoads runs deploy/ci/gate.sh with a load, and with a command that the base branch does not know.
func TestGateRunsLoads(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.Symlink(testkit.Rpclab(t), filepath.Join(bin, "rpclab")); err != nil {
		t.Fatal(err)
	}
	gate, err := filepath.Abs("../../deploy/ci/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "ALLOW": "busy", "UNDECIDED": "pass", "OUT": "reports", "GITHUB_ACTIONS": "true",
		"COMMAND": "load --service orders.yaml --call list --rate 100 --duration 500ms --rounds 6", "GATE": "p50 ratio < 1.5"})
	j.env["BASE"] = t.TempDir() // without the service
	if out, code := j.bash(t, gate); code != 0 || !strings.Contains(out, "::warning title=rpclab::the base branch cannot run this command") {
		t.Errorf("the base branch has no service: exit code %d\n%s", code, out)
	}
	j.env["MISSING"] = "fail"
	if out, code := j.bash(t, gate); code != 1 || !strings.Contains(out, "no earlier result, so the gates fail") {
		t.Errorf("the base branch has no service, and MISSING is fail: exit code %d\n%s", code, out)
	}
	j.env["BASE"] = "."
	if out, code := j.bash(t, gate); code != 0 || !strings.Contains(out, "rpclab: gates: ") {
		t.Errorf("a load of the same code: exit code %d\n%s", code, out)
	}
	j.env["COMMAND"] += " --assert 'max < 1ns'"
	j.env["BASE"], j.env["GATE"] = "", ""
	if out, code := j.bash(t, gate); code != 1 || !strings.Contains(out, "::error title=rpclab::--assert max < 1ns: ") {
		t.Errorf("a load whose assertion fails: exit code %d\n%s", code, out)
	}
}
