package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
)

// A scheduled job repeats an experiment: its exit code is that of the comparison with the last run that did not fail.
func TestARunIsGatedAgainstTheLastGoodOne(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	before := storeRun(t, data, "--gate", "p50 ratio < 4")
	file := filepath.Join(data, "small.yaml")
	gate := []string{"--gate", "p50 ratio < 4", "--allow", "busy"} // other tests run at the same time

	s := rpclabIn(t, data, append([]string{"run", file}, gate...)...)
	if s.code != 0 || !strings.Contains(s.stderr, "rpclab: comparing with run "+before) || !strings.Contains(s.stderr, "rpclab: gates: passed: 1 passed") {
		t.Errorf("the second run: exit code %d\n%s", s.code, s.stderr)
	}
	good := storedRun(t, data).ID
	slower := append([]string{"run", file, "--set", "workload.greet.delay=160ms", "--allow", "workload.greet.delay"}, gate...)
	for range 2 { // the first of them is no new normal
		md := filepath.Join(data, "slow.md")
		s := rpclabIn(t, data, append(slices.Clone(slower), "--md", md)...)
		for _, want := range []string{"rpclab: comparing with run " + good, "rpclab: one --gate p50 ratio < 4 failed: the ratio is ", "'rpclab runs accept " + storedRun(t, data).ID + "'"} {
			if s.code != 1 || !strings.Contains(s.stderr, want) {
				t.Errorf("a slower run: exit code %d, want 1 and %q\n%s", s.code, want, s.stderr)
			}
		}
		d := storedRun(t, data)
		if d.Conditions != result.ConditionsFailed || d.Gates == nil || d.Gates.Against != good || len(d.Gates.Results) == 0 || d.Gates.Results[0].Outcome != "failed" {
			t.Errorf("a slower run is stored as %q with the gates %+v", d.Conditions, d.Gates)
		}
		text, err := os.ReadFile(md)
		head, _, _ := strings.Cut(string(text), "local cluster")
		if err != nil || !strings.Contains(head, "**Gate failed: ") || !strings.Contains(string(text), "compared with run "+good+" (A)") {
			t.Errorf("%v: the report does not begin with the gate that failed:\n%s", err, text)
		}
	}
	if s := rpclabIn(t, data, append(slower, "--against", before)...); s.code != 1 || !strings.Contains(s.stderr, "rpclab: comparing with run "+before) {
		t.Errorf("a slower run against the first: exit code %d\n%s", s.code, s.stderr)
	}
	if s := rpclabIn(t, data, "run", file, "--set", "workload.greet.delay=160ms", "--assert", "errors == 1"); s.code != 1 || storedRun(t, data).Conditions != result.ConditionsFailed {
		t.Errorf("a failed assertion: exit code %d\n%s", s.code, s.stderr)
	}
	if s := rpclabIn(t, data, append([]string{"run", file}, gate...)...); s.code != 0 || !strings.Contains(s.stderr, "rpclab: comparing with run "+good) || storedRun(t, data).Conditions != result.ConditionsPassed {
		t.Errorf("as fast as before, after runs that failed: exit code %d\n%s", s.code, s.stderr)
	}
	good = storedRun(t, data).ID
	if s := rpclabIn(t, data, slower...); s.code != 1 || !strings.Contains(s.stderr, "rpclab: comparing with run "+good) {
		t.Errorf("a slower run: exit code %d\n%s", s.code, s.stderr)
	}
	accepted := storedRun(t, data).ID
	if s := rpclabIn(t, data, "runs", "accept", "latest"); s.code != 0 || s.stdout != "accepted "+accepted+"\n" {
		t.Errorf("accept a slower run: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	if s := rpclabIn(t, data, "runs", "accept", good); s.code != 2 || !strings.Contains(s.stderr, "no assertion or gate failed in the run "+good) {
		t.Errorf("accept a good run: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	// Settings differ from those of the accepted run, so nothing is compared.
	other := append([]string{"run", file, "--undecided", "pass"}, gate...)
	if s := rpclabIn(t, data, other...); s.code != 0 || !strings.Contains(s.stderr, "rpclab: comparing with run "+accepted) || !strings.Contains(s.stderr, "is not compared, so no gate applies") || !strings.Contains(s.stderr, "could not tell (--undecided pass)") {
		t.Errorf("a run of other settings: exit code %d\n%s", s.code, s.stderr)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--against", before}, "--against is for gates: add --gate"},
		{[]string{"--gate", "p50 ratio < 4", "--no-store"}, "--gate compares with the last stored run: leave out --no-store"},
		{[]string{"--gate", "p50 ratio < 4", "--against", "1999"}, `"1999"`},
		{[]string{"--gate", "p50 ratio < 4", "--against", "baseline"}, "this run has no other arm"},
	} {
		if s := rpclabIn(t, data, append([]string{"run", file}, c.args...)...); s.code != 2 || !strings.Contains(s.stderr, c.says) {
			t.Errorf("%q: exit code %d, want 2 and %q\n%s", c.args, s.code, c.says, s.stderr)
		}
	}
}

// People try other settings in the store of a scheduled job. A run without gates is a baseline if it repeats the gated one.
func TestAGateComparesWithRunsWithoutGatesOfTheSameSettings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	gate := []string{"--gate", "p50 ratio < 50", "--allow", "busy"} // other tests run at the same time
	gated := storeRun(t, data, gate...)
	file := filepath.Join(data, "small.yaml")
	for _, byHand := range [][]string{{"--set", "server.replicas=2"}, {"--set", "server.replicas=2", "--assert", "errors == 0"}, nil} {
		if s := rpclabIn(t, data, append([]string{"run", file}, byHand...)...); s.code != 0 {
			t.Fatalf("%q by hand: exit code %d\n%s", byHand, s.code, s.stderr)
		}
		const setting = "rpclab: warning: Another setting: server.replicas: 2 in A, 1 in B (one) (A is run "
		s := rpclabIn(t, data, append([]string{"run", file, "--no-store", "--against", "latest"}, gate...)...)
		if said := strings.Contains(s.stderr, setting); s.code != 0 || said != (byHand != nil) {
			t.Errorf("against %q by hand: exit code %d, and %q is printed: %t\n%s", byHand, s.code, setting, said, s.stderr)
		}
		if byHand == nil {
			gated = storedRun(t, data).ID
		}
		s = rpclabIn(t, data, append([]string{"run", file}, gate...)...)
		if s.code != 0 || !strings.Contains(s.stderr, "rpclab: comparing with run "+gated) || strings.Contains(s.stderr, "Another setting") {
			t.Errorf("after %q by hand: exit code %d, want 0 and a comparison with %s\n%s", byHand, s.code, gated, s.stderr)
		}
		gated = storedRun(t, data).ID
	}
}

func TestAGateSaysWhatElseDiffersFromTheEarlierRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	id := storeRun(t, data, "--rounds", "1")
	other := copyRuns(t, data, []string{id}, func(d *result.Document) { d.Machine.CPUs = 1000 })[0]
	file, md := filepath.Join(data, "small.yaml"), filepath.Join(data, "out.md")
	s := rpclabIn(t, data, "run", file, "--rounds", "1", "--gate", "p50 ratio < 4", "--undecided", "pass", "--allow", "busy", "--against", other, "--md", md)
	text, err := os.ReadFile(md)
	if want := "Another machine: CPUs: 1000 in A"; s.code != 0 || err != nil || !strings.Contains(s.stderr, "rpclab: warning: "+want) || !strings.Contains(string(text), want) {
		t.Errorf("exit code %d (%v), want 0 and %q:\n%s\n%s", s.code, err, want, s.stderr, text)
	}
	if d := storedRun(t, data); !slices.ContainsFunc(d.Gates.Differences, func(d result.Difference) bool { return d.What == "CPUs" && d.A == "1000" }) {
		t.Errorf("the result has the differences %+v, want the CPUs", d.Gates.Differences)
	}
	s = rpclabIn(t, data, "run", file, "--quick", "--gate", "p50 ratio < 4")
	if want := "nothing to compare: the store has no earlier run of small with --quick that did not fail"; s.code != 0 || !strings.Contains(s.stderr, want) {
		t.Errorf("exit code %d, want 0 and %q:\n%s", s.code, want, s.stderr)
	}
}

// A run of which an arm cannot run tests its gates on the others. A slowdown in it is no new normal.
func TestARunWithoutAnArmTestsItsGates(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	good := storeRun(t, data)
	file := filepath.Join(data, "small.yaml")
	slower := strings.Replace(small, "  one: {}\n", "  one: {workload: {greet: {delay: 50ms}}}\n  rust: {server: {language: rust}}\n", 1)
	if err := os.WriteFile(file, []byte(slower), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := command(t, data, "run", file, "--gate", "p50 ratio < 4", "--allow", "busy", "--allow", "workload.greet.delay")
		c.Env = append(c.Env, "PATH="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir()) // without cargo
		s, err := ran(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"rpclab: comparing with run " + good, "rpclab: one --gate p50 ratio < 4 failed", "rust: not run: "} {
			if s.code != 3 || !strings.Contains(s.stderr, want) {
				t.Errorf("exit code %d, want 3 and %q\n%s", s.code, want, s.stderr)
			}
		}
		if d := storedRun(t, data); d.Partial || d.Conditions != result.ConditionsFailed {
			t.Errorf("the run is stored as %q, partial: %t; want failed and complete", d.Conditions, d.Partial)
		}
	}
}

// twoVersions is the file of an experiment that compares a server with one that takes five times as long.
func twoVersions(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "versions.yaml")
	text := `experiment: versions
question: Is the new version slower?
defaults: {route: direct, load: {closed: {users: 4, calls: 25}}}
arms:
  old: {workload: {greet: {delay: 20ms}}}
  new: {workload: {greet: {delay: 100ms}}}
rounds: 4
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A pipeline compares two versions in one run.
func TestTheArmsOfARunAreGatedAgainstTheirBaseline(t *testing.T) {
	t.Parallel()
	file := twoVersions(t)
	for _, c := range []struct {
		gate string
		code int
		says string
	}{
		{"p50 ratio < 2", 1, "rpclab: new --gate p50 ratio < 2 failed: the ratio is "},
		{"p50 ratio < 9", 0, "rpclab: gates: passed: 1 passed, 0 failed, 0 undecided"},
	} {
		undisturbed(t, func(_ int, wrong func(string, ...any)) {
			junit := filepath.Join(t.TempDir(), "gates.xml")
			s := rpclab(t, "run", file, "--no-store", "--against", "baseline", "--gate", c.gate, "--junit", junit)
			if s.code != c.code || !strings.Contains(s.stderr, c.says) {
				wrong("%s: exit code %d, want %d and %q\n%s", c.gate, s.code, c.code, c.says, s.stderr)
			}
			text, err := os.ReadFile(junit)
			if failed := strings.Contains(string(text), `<failure message="the ratio is `); err != nil || failed != (c.code == 1) || !strings.Contains(string(text), `classname="versions.gates"`) {
				wrong("%s: %v, want a test for the gate in\n%s", c.gate, err, text)
			}
		})
	}
}

// The rounds that fit have too few calls for a gate on p99, and more rounds would have enough, so it is never settled.
func TestARunEndsWhenItsGatesAreSettled(t *testing.T) {
	t.Parallel()
	file := twoVersions(t)
	for gate, settled := range map[string]bool{"p50 ratio < 2": true, "p99 ratio < 2": false} {
		undisturbed(t, func(_ int, wrong func(string, ...any)) {
			s := rpclab(t, "run", file, "--no-store", "--set", "design=interleaved", "--for", "20s", "--json", "-", "--against", "baseline", "--gate", gate)
			d := resulttest.Read(t, strings.NewReader(s.stdout))
			if decided := d.Ended == result.EndedDecided; s.code != 1 || decided != settled {
				wrong("%s: exit code %d, and the run ended after %d rounds by %q\n%s", gate, s.code, d.Rounds, d.Ended, s.stderr)
			}
		})
	}
}
