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

// One arm is compared with nothing: neither more rounds nor an earlier run gives it a verdict.
func TestAPlanOfOneArmComparesNothing(t *testing.T) {
	for _, rounds := range []int{1, 4} {
		run := result.PlannedRun{Rounds: rounds, Trials: rounds}
		var out strings.Builder
		if err := Plan(&out, result.Plan{Arms: []string{"a"}, Fewest: run, Most: run, RoundsForVerdict: 4, Headline: []string{"failed"}, ByRank: []string{"failed"}}, Options{}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, "The run compares no arms: it has one.") || strings.Contains(text, "detect") || strings.Contains(text, "noise") {
			t.Errorf("%d rounds: want no advice to make verdicts possible, and the reason, in\n%s", rounds, out.String())
		}
	}
}

// More rounds do not help a percentile of too few calls, and neither does a short run whose trials have too few as well.
func TestAPlanNamesThePercentilesOfTooFewCalls(t *testing.T) {
	for name, c := range map[string]struct {
		plan       result.Plan
		has, lacks string
	}{
		"this run":  {result.Plan{TooFewCalls: []string{"latency_p99"}, Command: "rpclab run x --quick", Pilot: "rpclab run x --quick"}, "p99 has no verdict at any number of rounds: a trial has too few calls. Make more, or leave out --quick.", "measures the noise"},
		"short run": {result.Plan{}, "The differences that it detects are not known: no run of this experiment on this machine is stored. Trials of --quick have too few calls to measure the noise.", "A short run"},
	} {
		c.plan.Headline, c.plan.ByRank, c.plan.RoundsForVerdict = []string{"p99", "failed"}, []string{"failed"}, 6
		c.plan.Fewest.Rounds, c.plan.Most.Rounds, c.plan.Most.InOrder = 6, 6, 1
		var out strings.Builder
		if err := Plan(&out, c.plan, Options{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, c.has) || strings.Contains(text, c.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", name, c.has, c.lacks, out.String())
		}
	}
}

// No run shows a noise of metrics that are compared by rank, so the plan advises none.
func TestAPlanOfRanksSaysWhatTheyDetect(t *testing.T) {
	for name, c := range map[string]struct {
		headline []string
		few, all float64
		want     string
		advises  bool
	}{
		"two looks":      {[]string{"failed", "followed"}, 1, 0.8609, "failed and followed: compared by rank, so a difference is detected in 6 rounds if every trial of one arm exceeds every trial of the other, in 12 rounds if trials of one arm exceed those of the other in 87 % of all pairs.", false},
		"one can decide": {[]string{"failed", "followed"}, 0, 1, "is detected in 12 rounds if every trial of one arm exceeds every trial of the other.", false},
		"arms in turns":  {[]string{"failed", "followed"}, 0, 0, "not known: rounds in turns, which are compared by rank, may depend on each other.", false},
		"after a p99":    {[]string{"p99", "failed", "followed"}, 1, 1, "failed and followed: compared by rank", true},
	} {
		p := result.Plan{Headline: c.headline, ByRank: []string{"failed", "followed"}, RoundsForVerdict: 5, Pilot: "rpclab run x --quick",
			Fewest: result.PlannedRun{Rounds: 6, InOrder: c.few}, Most: result.PlannedRun{Rounds: 12, InOrder: c.all}}
		var out strings.Builder
		if err := Plan(&out, p, Options{}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if advises := strings.Contains(text, "A short run measures the noise"); !strings.Contains(text, c.want) || advises != c.advises {
			t.Errorf("%s: want %q, and advice on the noise: %v, in\n%s", name, c.want, c.advises, out.String())
		}
	}
}

func TestAPlanSaysWhatItsTimeIsEstimatedFrom(t *testing.T) {
	took := func(low, high float64) *[2]float64 { return &[2]float64{low, high} }
	for name, c := range map[string]struct {
		run  result.PlannedRun
		plan result.Plan
		want []string
	}{
		"a range":     {result.PlannedRun{TookMS: took(90e3, 240e3)}, result.Plan{From: []string{"x7"}}, []string{"90 s to 4 min", "takes: estimated from the starts and calls of run x7."}},
		"one time":    {result.PlannedRun{TookMS: took(20.1e3, 20.4e3)}, result.Plan{From: []string{"x7"}}, []string{"about 21 s"}},
		"a pilot":     {result.PlannedRun{TookMS: took(60e3, 80e3)}, result.Plan{PilotMS: 9e3}, []string{"60 to 80 s", "a pilot of 9 s. A busier machine takes longer. Arms that it did not measure may start more slowly."}},
		"loads alone": {result.PlannedRun{LoadMS: 168e3}, result.Plan{}, []string{"over 2.8 min", "takes: the time of the loads alone."}},
		"nothing":     {result.PlannedRun{}, result.Plan{}, []string{"not known"}},
	} {
		c.run.Rounds, c.plan.Fewest, c.plan.Most = 4, c.run, c.run
		var out strings.Builder
		if err := Plan(&out, c.plan, Options{}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the plan lacks %q:\n%s", name, want, out.String())
			}
		}
	}
}

// Who allows events on live pods reads which Service they hit, how often, before the run starts.
func TestAPlanNamesTheLivePodsThatItDisrupts(t *testing.T) {
	var out strings.Builder
	p := result.Plan{Arms: []string{"a", "b"}, Disrupts: []result.Disrupted{{Service: "shop/orders", Events: "scale 4, roll"}}, Most: result.PlannedRun{Rounds: 6, Trials: 12}}
	if err := Plan(&out, p, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "--allow-disruption: each of its trials, up to 12, changes the live pods of shop/orders: scale 4, roll."
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
		t.Errorf("the plan lacks %q:\n%s", want, out.String())
	}
}

// Where a proxy is not available, a command that installs proxies does not help.
func TestAPlanNamesTheProxiesThatAreNotInstalled(t *testing.T) {
	var out strings.Builder
	if err := Plan(&out, result.Plan{Missing: []string{"nginx"}, Unavailable: []string{"envoy", "haproxy"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"Not installed: nginx. Install them with rpclab doctor --install.",
		"Not installed, and not available on this platform: envoy, haproxy. Arms that need them do not run.",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "`", ""), want) {
			t.Errorf("the plan lacks %q:\n%s", want, out.String())
		}
	}
}

// In pods, neither the ports nor the limit of open files of this machine matter, and --on kubernetes allows no --pilot.
func TestAPlanSaysWhereItStartsWhat(t *testing.T) {
	for on, want := range map[string]string{
		"local":      "It starts about 11 processes at a time, on free loopback ports. One of them opens up to 64 files.",
		"kubernetes": "It starts about 11 containers at a time, in pods of a namespace of its own. They need",
	} {
		var out strings.Builder
		if err := Plan(&out, result.Plan{On: on, Pilot: "rpclab run x --quick", Processes: 11, Files: 64}, Options{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
			t.Errorf("the plan of a run on %s lacks %q:\n%s", on, want, out.String())
		}
		if advised := strings.Contains(out.String(), "--pilot"); advised != (on == "local") {
			t.Errorf("the plan of a run on %s recommends a pilot: %v\n%s", on, advised, out.String())
		}
	}
}
