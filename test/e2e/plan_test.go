package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// TestAPlanSaysWhatTheRunTellsAndStartsNothing plans a run before and after the first run of its experiment.
func TestAPlanSaysWhatTheRunTellsAndStartsNothing(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(small, "  one: {}\n", "  one: {}\n  two: {}\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := rpclabIn(t, data, "run", file, "--plan")
	text := strings.Join(strings.Fields(s.stdout), " ")
	for _, want := range []string{"2 arms, isolated: one, two.", "if decided at the first look 4 8", "at most 8 16", "are not known: no run of this experiment",
		"rpclab run " + file + " --quick", "Nothing was started."} {
		if !strings.Contains(text, want) {
			t.Errorf("exit code %d, the plan lacks %q:\n%s%s", s.code, want, s.stdout, s.stderr)
		}
	}
	if s := rpclabIn(t, data, "run", file, "--rounds", "4"); s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	s = rpclabIn(t, data, "run", file, "--plan", "--json", "-")
	var plan result.Plan
	if err := json.Unmarshal([]byte(s.stdout), &plan); err != nil {
		t.Fatalf("%v\n%s%s", err, s.stdout, s.stderr)
	}
	few, many := plan.Fewest.Tells["latency_p50"], plan.Most.Tells["latency_p50"]
	if len(plan.From) != 1 || plan.Fewest.TookMS == nil || !(1 < many && many < few) || plan.Memory == nil {
		t.Errorf("the plan is %s", s.stdout)
	}
	if runs := rpclabIn(t, data, "runs"); strings.Count(runs.stdout, "small") != 1 {
		t.Errorf("a plan started a run:\n%s", runs.stdout)
	}
}

// Without an earlier run, a pilot measures the noise of two arms. It is not stored, and a plan that knows earlier
// runs starts none.
func TestAPilotMeasuresTheNoiseForAPlan(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := filepath.Join(data, "small.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(small, "  one: {}\n", "  one: {}\n  two: {}\n  three: {}\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := rpclabIn(t, data, "run", file, "--plan", "--pilot", "--no-wait")
	text := strings.Join(strings.Fields(s.stdout), " ")
	for _, want := range []string{"from the noise of a pilot of", "detects p50", "Only the pilot was started, and it has ended."} {
		if !strings.Contains(text, want) {
			t.Errorf("exit code %d, the plan lacks %q:\n%s%s", s.code, want, s.stdout, s.stderr)
		}
	}
	if want := "the pilot measures one and two in 4 rounds, with about "; !strings.Contains(s.stderr, want) {
		t.Errorf("the pilot does not say %q:\n%s", want, s.stderr)
	}
	if runs := rpclabIn(t, data, "runs"); strings.Contains(runs.stdout, "small") {
		t.Errorf("the pilot is stored:\n%s", runs.stdout)
	}
	if s := rpclabIn(t, data, "run", file, "--rounds", "4"); s.code != 0 {
		t.Fatalf("exit code %d\n%s", s.code, s.stderr)
	}
	if s := rpclabIn(t, data, "run", file, "--plan", "--pilot"); s.code != 0 || !strings.Contains(s.stdout, "Nothing was started.") {
		t.Errorf("exit code %d, a pilot is not needed:\n%s%s", s.code, s.stdout, s.stderr)
	}
}
