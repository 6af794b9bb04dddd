package e2e

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// TestQuickChannels checks the first command of the README.
func TestQuickChannels(t *testing.T) {
	quickly(t, "channels")
	d, s := quick(t, "channels")
	for _, a := range d.Arms {
		if len(a.Errors) != 0 || a.Dropped != 0 {
			t.Errorf("%s: errors %v, %d dropped", a.Name, a.Errors, a.Dropped)
		}
	}
	for _, trial := range arm(t, d, "shared").Trials {
		if busiest := slices.Max(counts(trial.Backends)); busiest != trial.Calls || len(trial.Backends) != 3 {
			t.Errorf("shared, round %d: calls by backend are %v, want all on one of three", trial.Round, trial.Backends)
		}
	}
	if jain := arm(t, d, "shared").Balance.Jain; math.Abs(jain-1.0/3) > 1e-9 {
		t.Errorf("shared has Jain's index %g, want 1/3", jain)
	}
	for _, name := range []string{"endpointslice", "kuberesolver", "headless"} {
		for _, trial := range arm(t, d, name).Trials {
			calls := counts(trial.Backends)
			even := float64(trial.Calls) / 3
			if len(calls) != 3 || float64(slices.Max(calls)) > even*1.01 || float64(slices.Min(calls)) < even*0.99 {
				t.Errorf("%s, round %d: calls by backend are %v, want equal shares within 1 %%", name, trial.Round, trial.Backends)
			}
		}
	}
	if p := arm(t, d, "new-channel").Balance.PRandom; p <= 1e-6 { // under round robin it would be 1e-9
		t.Errorf("new-channel has a p_random of %g, want random assignment", p)
	}
	controls, different := control(d)
	if controls != 2 || len(d.Verdicts) < 12 {
		t.Errorf("%d verdicts, %d of them on the A/A control; want at least 12, and 2", len(d.Verdicts), controls)
	}
	if len(different) > 0 { // expected in one run of 20, but not twice in the same way
		again, _ := quickTry(t, "channels", 2)
		_, once := control(again)
		for metric, v := range different {
			if w, both := once[metric]; both && w.Decision == v.Decision {
				t.Errorf("two runs decided that the A/A control is %s: %+v, %+v", v.Decision, v, w)
			}
		}
	}
	for _, sentence := range []string{
		"one HTTP/2 connection carries every call, so one of 3 backends received all",
		"control shared-again",
		"Confounds",
	} {
		if !strings.Contains(strings.Join(strings.Fields(s.stdout), " "), sentence) {
			t.Errorf("the report does not say %q", sentence)
		}
	}
}

// control counts the headline verdicts on the A/A control, and returns those that found a difference,
// by metric.
func control(d result.Document) (all int, different map[string]result.Verdict) {
	different = map[string]result.Verdict{}
	for _, v := range d.Verdicts {
		if v.Kind != "control" || v.Secondary {
			continue
		}
		all++
		if v.Decision == "better" || v.Decision == "worse" {
			different[v.Metric] = v
		}
	}
	return all, different
}

func counts(backends map[string]uint64) []uint64 {
	var all []uint64
	for _, n := range backends {
		all = append(all, n)
	}
	return all
}

// TestTenThousandChannelsAtOnce repeats the case in which the study's client crashed. Without -soak it
// reads the --quick run, which has 334 channels.
func TestTenThousandChannelsAtOnce(t *testing.T) {
	calls := many(10_000, 334)
	var d result.Document
	if *soak {
		d, _ = document(t, "channels", "--set", "load.burst=10000", "--rounds", "1")
	} else {
		d, _ = quick(t, "channels")
	}
	if len(d.Arms) != 7 {
		t.Errorf("%d arms ran, want 7", len(d.Arms))
	}
	for _, a := range d.Arms {
		var failed uint64
		for _, n := range a.Errors {
			failed += n
		}
		if a.Calls != uint64(calls*d.Rounds) || a.Trials[0].Failed != "" {
			t.Errorf("%s: %d of %d calls ended in %d rounds; %s", a.Name, a.Calls, calls, d.Rounds, a.Trials[0].Failed)
		}
		var answered uint64
		for _, n := range a.Backends {
			answered += n
		}
		if answered+failed != a.Calls {
			t.Errorf("%s: %d answered and %d failed of %d calls", a.Name, answered, failed, a.Calls)
		}
	}
}

func TestPublishedFiguresNeedTheStudysWorkload(t *testing.T) {
	likeTheStudy := []string{"run", "channels", "--rounds", "1", "--arms", "shared,endpointslice", "--set", "sweep.load.burst=[1000]"}
	t.Parallel()
	s := rpclab(t, append(likeTheStudy, "--full", "--assert", "errors == 0 && p99 < 1m")...) // which succeeds
	if s.code != 0 || !strings.Contains(s.stdout, "522.6") {
		t.Errorf("exit code %d; want the study's 522.6 ms for the shared channel in\n%s%s", s.code, s.stdout, s.stderr)
	}
	s = rpclab(t, append(likeTheStudy, "--full", "--set", "workload.greet.delay=5ms")...)
	if s.code != 0 || strings.Contains(s.stdout, "522.6") || !strings.Contains(s.stdout, "workload.greet.delay=5ms") {
		t.Errorf("exit code %d; want no published figure for another workload in\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestJSONToStandardOutputPrintsNothingElse(t *testing.T) {
	t.Parallel()
	d, s := document(t, "channels", "--quick", "--rounds", "1", "--arms", "shared", "--no-store")
	if !strings.HasPrefix(s.stdout, "{") || !strings.HasSuffix(s.stdout, "}\n") || d.Rounds != 1 {
		t.Errorf("standard output begins %.40q", s.stdout)
	}
}

func TestAFailedAssertionExitsWithCode1(t *testing.T) {
	t.Parallel()
	s := rpclab(t, "run", "channels", "--quick", "--rounds", "1", "--arms", "shared,endpointslice", "--no-store",
		"--assert", "errors == 0 && p99 < 1m", "--assert", "p50 < 1ms")
	if s.code != 1 || !strings.Contains(s.stderr, "rpclab: shared at load.burst=334 --assert p50 < 1ms: it is ") ||
		!strings.Contains(s.stderr, "rpclab: endpointslice at ") || strings.Contains(s.stderr, "errors == 0") {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
}
