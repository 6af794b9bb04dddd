package report

import (
	"strings"
	"testing"

	"rpclab/internal/result"
)

// A run with too few rounds for a verdict detects nothing, and a ratio that noise of a few rounds cannot support is no figure.
func TestDifferencesOfAPlan(t *testing.T) {
	for name, c := range map[string]struct {
		tells map[string]float64
		want  string
	}{
		"too few rounds": {nil, "The run detects no difference: a verdict needs 4 rounds. Add --rounds 4."},
		"a difference":   {map[string]float64{"latency_p50": 1.05}, "fixed rounds 1 2 not known 5 %"},
		"no figure":      {map[string]float64{"latency_p50": 7.9e13}, "fixed rounds 1 2 not known over 100-fold"},
	} {
		run := result.PlannedRun{Rounds: 1, Trials: 2, Tells: c.tells}
		var out strings.Builder
		if err := Plan(&out, result.Plan{Experiment: "x", Arms: []string{"a", "b"}, Fewest: run, Most: run, RoundsForVerdict: 4, From: []string{"earlier"}}, Options{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, c.want) {
			t.Errorf("%s: the plan lacks %q:\n%s", name, c.want, out.String())
		}
	}
}
