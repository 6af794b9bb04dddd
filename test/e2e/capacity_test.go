package e2e

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// known has a server of known capacity: 20 workers that take 100 ms a call answer 200 calls/s. The
// objective allows a queue of 100 ms, so a probe of 3 s fails from an overload of 3.4 % on.
const known = `
experiment: known
question: Does a search find a known capacity?
defaults:
  workload: {greet: {delay: 100ms, workers: 20}}
  server: {replicas: 1}
  route: direct
  load: {search: {slo: "p99 < 200ms and errors < 0.1%", from: 20, to: 4000, precision: 2%, duration: 3s}}
arms: {grpc-go: {}}
rounds: 1
`

// TestAnIdleMachine runs tests at the same time that mostly wait, and that other tests would disturb.
func TestAnIdleMachine(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a search finds a known capacity":      findsKnownCapacity,
		"GitHub's action fails on slower code": githubActionFailsOnSlowerCode,
		"least request avoids a slow backend":  avoidsSlowBackend,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// findsKnownCapacity requires an error of at most 5 % and at most 20 probes.
func findsKnownCapacity(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(file, []byte(known), 0o644); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) { findsCapacity(t, file, wrong) })
}

func findsCapacity(t *testing.T, file string, wrong func(format string, args ...any)) {
	const capacity, mostProbes = 200, 20
	d, _ := document(t, file, "--no-store")
	trial := d.Arms[0].Trials[0]
	c := trial.Capacity
	t.Logf("%.1f calls/s (%.1f to %.1f, %s), %d probes", c.Rate, c.Holds, c.Fails, c.End, len(c.Probes))
	if math.Abs(c.Rate/capacity-1) > 0.05 || c.End != "found" && c.End != "used up" || len(c.Probes) > mostProbes {
		wrong("the search found %.1f calls/s, want %d: %+v", c.Rate, capacity, *c)
		return
	}
	// The trial's measures are those of the rate that met the objective.
	if calls := float64(trial.Calls); math.Abs(calls/(3*c.Holds)-1) > 0.02 || trial.Latency.P99 >= 200 {
		t.Errorf("the trial has %.0f calls with a p99 of %.1f ms, want those of 3 s at %.1f/s", calls, trial.Latency.P99, c.Holds)
	}
}
