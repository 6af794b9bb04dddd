package dashboards

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// killing has two arms, each of which loses a backend.
const killing = `experiment: killing
question: Which routes survive a kill?
defaults:
  workload: {greet: {delay: 5ms}}
  caller: {kind: wire, warmup: 5}
  server: {replicas: 2}
  route: direct
  load: {open: {rate: 100, duration: 500ms}}
events:
  - {at: 200ms, kill: 1}
arms:
  one: {}
  two: {route: endpointslice}
rounds: 2
`

// kill runs the experiment and reads its result.
func kill(t *testing.T, args ...string) result.Document {
	t.Helper()
	dir := t.TempDir()
	file, written := filepath.Join(dir, "killing.yaml"), filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, []byte(killing), 0o600); err != nil {
		t.Fatal(err)
	}
	words := ""
	for _, arg := range args {
		words += " '" + arg + "'"
	}
	sh(t, "%s run %s --no-store --quiet --json %s%s", testkit.Rpclab(t), file, written, words)
	text, err := os.Open(written)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	return resulttest.Read(t, text)
}

// samples returns the samples of the past minutes of the only series that a selector matches.
func (w watcher) samples(t *testing.T, selector string) (values []float64) {
	t.Helper()
	found, _, err := w.Query(t.Context(), selector+"[10m]", time.Now())
	if err != nil {
		t.Fatalf("%s: %v", selector, err)
	}
	if all := found.(model.Matrix); len(all) != 1 {
		t.Fatalf("%s: %d series, want 1", selector, len(all))
	}
	for _, pair := range found.(model.Matrix)[0].Values {
		values = append(values, float64(pair.Value))
	}
	return values
}

func TestPrometheusReceivesARun(t *testing.T) {
	t.Parallel()
	w := watch(t, t.TempDir(), free(t))
	d := kill(t, "--remote-write", "http://"+w.at+"/api/v1/write")
	for _, arm := range d.Arms {
		this := fmt.Sprintf("run=%q, experiment=\"killing\", arm=%q, job=\"rpclab\"", d.ID, arm.Name)
		for selector, of := range map[string]func(result.Trial) float64{
			`rpclab_trial_latency_seconds{quantile="0.99", ` + this + `}`: func(t result.Trial) float64 { return t.Latency.Bounded().P99 / 1000 },
			`rpclab_trial_failed_calls{` + this + `}`:                     func(t result.Trial) float64 { return float64(t.Measures.Failed()) },
			`rpclab_trial_lost_ratio{` + this + `}`:                       func(t result.Trial) float64 { return t.Measures.Lost() },
		} {
			got := w.samples(t, selector)
			if len(got) != len(arm.Trials) {
				t.Errorf("%s has %v, want a sample of each of %d trials", selector, got, len(arm.Trials))
				continue
			}
			for i, trial := range arm.Trials {
				if math.Abs(got[i]-of(trial)) > 1e-9 {
					t.Errorf("%s has %v in round %d, want %v", selector, got[i], i+1, of(trial))
				}
			}
		}
		counted := w.samples(t, fmt.Sprintf("rpclab_calls_total{arm=%q, code=\"OK\", job=\"rpclab\"}", arm.Name))
		if last := counted[len(counted)-1]; last != float64(arm.Calls-arm.Failed()) {
			t.Errorf("%s: %v calls are OK, want %d", arm.Name, last, arm.Calls-arm.Failed())
		}
		buckets := w.samples(t, fmt.Sprintf("rpclab_call_latency_seconds_bucket{arm=%q, le=\"+Inf\"}", arm.Name))
		if last := buckets[len(buckets)-1]; last != float64(arm.Calls-arm.Failed()) {
			t.Errorf("%s: the histogram has %v calls, want %d", arm.Name, last, arm.Calls-arm.Failed())
		}
		times := w.samples(t, `rpclab_phase_time_seconds_total{phase="load", `+this+`}`)
		if first, last := times[0], times[len(times)-1]; first < 0.4 || last < 0.8 {
			t.Errorf("%s: the loads took %v s after the first and %v s after the last round", arm.Name, first, last)
		}
	}
	if now := w.now(t, "rpclab_calls_total"); len(now) > 0 {
		t.Errorf("the run has ended, but its counters have not: %v", now)
	}
}
