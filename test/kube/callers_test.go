package kube

import (
	"fmt"
	"math"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"rpclab/internal/result"
)

func TestCallersInSeveralPodsShareALoad(t *testing.T) {
	t.Parallel()
	trials := mustRun(t, "testdata/callers.yaml").Arms[0].Trials
	for _, trial := range trials {
		t.Run(fmt.Sprint("round ", trial.Round), func(t *testing.T) {
			var calls uint64
			for _, c := range trial.Callers {
				calls += c.Calls
			}
			if len(trial.Callers) != 4 || calls != trial.Calls || calls != 400 {
				t.Errorf("%d callers made %d calls and the trial has %d, want 4 callers and 400 calls", len(trial.Callers), calls, trial.Calls)
			}
			checkMergedHistogram(t, trial)
		})
	}
	// A busy machine may delay a caller, so the best round counts.
	least := leastSkew(t, trials)
	if least >= 10 {
		least = leastSkew(t, mustRun(t, "testdata/callers.yaml", "--rounds", "10").Arms[0].Trials)
	}
	if least >= 10 {
		t.Errorf("callers started %.1f ms apart in the best round, want less than 10", least)
	}
}

// leastSkew returns within how many milliseconds the callers started in the best round.
func leastSkew(t *testing.T, trials []result.Trial) float64 {
	t.Helper()
	least := math.Inf(1)
	for _, trial := range trials {
		least = min(least, result.Skew(trial.Callers))
		t.Logf("round %d: callers started within %.2f ms", trial.Round, result.Skew(trial.Callers))
	}
	return least
}

// checkMergedHistogram requires that the histogram of a trial is the sum of those of its callers.
func checkMergedHistogram(t *testing.T, trial result.Trial) {
	t.Helper()
	whole, err := hdr.Decode([]byte(trial.Latency.HDR))
	if err != nil {
		t.Fatal(err)
	}
	sum := map[int64]int64{}
	for _, c := range trial.Callers {
		part, err := hdr.Decode([]byte(c.Latency.HDR))
		if err != nil {
			t.Fatal(err)
		}
		for value, n := range recorded(part) {
			sum[value] += n
		}
	}
	if diff := cmp.Diff(sum, recorded(whole)); diff != "" {
		t.Errorf("the trial's histogram is not the sum of its callers' (-callers +trial):\n%s", diff)
	}
}

// recorded returns the count of each value, at the resolution of the histogram.
func recorded(h *hdr.Histogram) map[int64]int64 {
	all := map[int64]int64{}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			all[bar.From] += bar.Count
		}
	}
	return all
}

func TestADeletedCallerPodFailsOnlyItsTrial(t *testing.T) {
	t.Parallel()
	g := begin(t, "testdata/lost-caller.yaml", "--seed", "1") // this seed runs the arm lost first
	g.await(t, ` lost +\d+/s`)
	namespace := g.namespace(t)
	pod := strings.TrimPrefix(strings.TrimSpace(kubectl(t, "get", "pods", "-n", namespace, "-l", "batch.kubernetes.io/job-completion-index=1", "-o", "name")), "pod/")
	if pod == "" {
		t.Fatal("there is no pod of caller 2")
	}
	kubectl(t, "delete", "pod", pod, "-n", namespace, "--now")
	s := g.end(t)
	g.leavesNothing(t)
	if s.code != 0 || len(s.document.Arms) != 2 {
		t.Fatalf("exit code %d, want 0 and two arms:\n%s", s.code, s.stderr)
	}
	lost, kept := s.document.Arms[0].Trials[0], s.document.Arms[1].Trials[0]
	for _, want := range []string{"caller 2 of 2", "pod " + pod} {
		if !strings.Contains(lost.Failed, want) {
			t.Errorf("the failure %q does not contain %q", lost.Failed, want)
		}
	}
	if lost.Order > kept.Order {
		t.Errorf("the arm lost ran last: use another seed")
	}
	if kept.Failed != "" || kept.Calls != 400 || len(kept.Errors) > 0 {
		t.Errorf("the next trial has %d calls, errors %v, failure %q; want 400 calls", kept.Calls, kept.Errors, kept.Failed)
	}
	t.Log(lost.Failed)
}
