package e2e

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rpclab/internal/result/resulttest"
)

// known is about a server whose capacity is known: 20 workers that take 100 ms a call
// answer 200 a second. A queue may grow for 100 ms before the objective fails, which
// within 3 s shows from 3.4 % too many on.
const known = `
experiment: known
question: How much does a server of known capacity take?
defaults:
  workload: {greet: {delay: 100ms, workers: 20}}
  server: {replicas: 1}
  route: direct
  load: {search: {slo: "p99 < 200ms and errors < 0.1%", from: 20, to: 4000, precision: 2%, duration: 3s}}
arms: {grpc-go: {}}
rounds: 1
`

// TestASearchFindsAKnownCapacity, within 5 % and in at most 15 probes: the proof
// that a search may be believed. A machine that is held up meanwhile, so that calls
// leave late, is given another chance; a wrong answer on a quiet one is not.
func TestASearchFindsAKnownCapacity(t *testing.T) {
	const capacity, mostProbes, tries = 200, 15, 3
	file := filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(file, []byte(known), 0o644); err != nil {
		t.Fatal(err)
	}
	for range tries {
		s := rpclab(t, "run", file, "--no-store", "--json", "-")
		if s.code != 0 {
			t.Fatalf("exit code %d, %s", s.code, s.stderr)
		}
		trial := resulttest.Read(t, strings.NewReader(s.stdout)).Arms[0].Trials[0]
		c := trial.Capacity
		t.Logf("%.1f calls/s (%.1f to %.1f, %s), %d probes", c.Rate, c.Holds, c.Fails, c.End, len(c.Probes))
		late := false
		for _, p := range c.Probes {
			late = late || !p.Held && p.Lateness > 20
		}
		switch off := math.Abs(c.Rate/capacity - 1); {
		case off <= 0.05 && c.End == "found" && len(c.Probes) <= mostProbes:
			// The trial's measures are those of the rate that held.
			if calls := float64(trial.Calls); math.Abs(calls/(3*c.Holds)-1) > 0.02 || trial.Latency.P99 >= 200 {
				t.Errorf("%.0f calls with a p99 of %.1f ms, at %.1f/s for 3 s", calls, trial.Latency.P99, c.Holds)
			}
			return
		case !late:
			t.Fatalf("found %.1f of %d: %+v", c.Rate, capacity, *c)
		}
	}
	t.Fatalf("%d searches were disturbed: the machine is too busy", tries)
}
