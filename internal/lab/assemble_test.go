package lab

import (
	"fmt"
	"strings"
	"testing"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// trial is one whose calls all took latencyMS, on backends with the given counts.
func trial(t *testing.T, round int, latencyMS float64, counts ...uint64) result.Trial {
	t.Helper()
	h := measure.Histogram()
	x := result.Trial{Round: round, Measures: result.Measures{
		Backends: map[string]uint64{}, Errors: map[string]uint64{}, ElapsedMS: latencyMS,
	}}
	for i, n := range counts {
		x.Backends[fmt.Sprintf("b%d", i)] = n
		x.Calls += n
		if err := h.RecordValues(int64(latencyMS*1e6), int64(n)); err != nil {
			t.Fatal(err)
		}
	}
	x.Latency = result.FromHDR(h)
	x.Groups = [][]uint64{counts}
	x.Resources.Client = result.Usage{CPU: latencyMS, RSS: uint64(round)}
	return x
}

// arms is a document of two arms, the second measured with the given latencies.
func arms(t *testing.T, latencies ...float64) result.Document {
	t.Helper()
	d := result.Document{Baseline: "base", Arms: []result.Arm{{Name: "base"}, {Name: "other"}}}
	for i, latency := range latencies {
		d.Arms[0].Trials = append(d.Arms[0].Trials, trial(t, i+1, 10+float64(i)/100, 30, 30))
		d.Arms[1].Trials = append(d.Arms[1].Trials, trial(t, i+1, latency, 60, 0))
	}
	return d
}

func TestAnArmIsItsTrialsTogether(t *testing.T) {
	d := Assemble(arms(t, 20, 40, 30))
	a := d.Arms[1]
	if a.Calls != 180 || a.ElapsedMS != 30 || a.Resources.Client.CPU != 30 || a.Resources.Client.RSS != 3 {
		t.Errorf("%d calls, elapsed %g, %+v", a.Calls, a.ElapsedMS, a.Resources.Client)
	}
	if p := a.Latency.P50; p < 29.9 || p > 30.1 {
		t.Errorf("the median of the merged calls is %g, want 30", p)
	}
	if a.Balance.Jain != 0.5 {
		t.Errorf("Jain's index is %g: in every trial one of two got all", a.Balance.Jain)
	}
}

func TestImbalanceIsNotSummedAway(t *testing.T) {
	d := arms(t)
	d.Arms[1].Trials = []result.Trial{trial(t, 1, 10, 60, 0), trial(t, 2, 10, 0, 60)}
	if a := Assemble(d).Arms[1]; a.Balance.Jain != 0.5 || a.Backends["b0"] != a.Backends["b1"] {
		t.Errorf("Jain's index is %g with backends %v", a.Balance.Jain, a.Backends)
	}
}

func decision(t *testing.T, d result.Document) result.Verdict {
	t.Helper()
	for _, v := range Assemble(d).Verdicts {
		if v.A == "other" && v.Metric == "latency_p50" {
			return v
		}
	}
	t.Fatal("there is no verdict on the other arm")
	return result.Verdict{}
}

func TestVerdictsNameTheDifference(t *testing.T) {
	for _, c := range []struct {
		latencies []float64
		want      string
	}{
		{[]float64{20, 20.1, 19.9, 20, 20}, "worse"},
		{[]float64{5, 5.1, 4.9, 5, 5}, "better"},
		{[]float64{10, 10.01, 10.02, 10.03, 10.04}, "equivalent"},
		{[]float64{5, 20, 10, 2, 40}, "undecided"},
		{[]float64{20, 20, 20}, "undecided"}, // three rounds
	} {
		if v := decision(t, arms(t, c.latencies...)); v.Decision != c.want || v.Rounds != len(c.latencies) {
			t.Errorf("%v: %s in %d rounds, want %s (%s)", c.latencies, v.Decision, v.Rounds, c.want, v.Reason)
		}
	}
}

func TestNoVerdictOnNumbersThatCannotBeTrusted(t *testing.T) {
	for what, spoil := range map[string]func(*result.Trial){
		"limited by the generator": func(x *result.Trial) { x.Limited = "late" },
		"calls of other failed":    func(x *result.Trial) { x.Errors["UNAVAILABLE"] = 10 },
		"failed or were dropped":   func(x *result.Trial) { x.Dropped = 10 },
		"2":                        func(x *result.Trial) { x.Failed = "the caller died" },
	} {
		d := arms(t, 20, 20, 20, 20, 20)
		spoil(&d.Arms[1].Trials[1])
		if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, what) {
			t.Errorf("%s: %s, %s", what, v.Decision, v.Reason)
		}
	}
}

func TestEveryPairIsComparedOnce(t *testing.T) {
	d := arms(t, 1, 2, 3, 4)
	d.Arms = append(d.Arms, result.Arm{Name: "again", Control: "base"}, result.Arm{Name: "published"})
	d.Confounds = []result.Confound{{Published: "published", Controlled: "other"}}
	var got []string
	for _, v := range Assemble(d).Verdicts {
		if v.Metric == "latency_p99" {
			got = append(got, v.Kind+" "+v.A+"/"+v.B)
		}
	}
	want := "baseline other/base, control again/base, baseline published/base, confound published/other"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("compared are %s\nwant %s", s, want)
	}
}

func TestWarningsNameTheTrialThatFailed(t *testing.T) {
	d := arms(t, 10)
	d.Arms[1].Cell = result.Cell{"load.burst": 300}
	d.Arms[1].Trials[0].Failed = "the caller died"
	d.Arms[1].Trials[0].Lost = []string{"server b0 ended unasked"}
	got := strings.Join(Assemble(d).Warnings, "\n")
	want := "other at load.burst=300, round 1 gave no measurement: the caller died\n" +
		"other at load.burst=300, round 1: server b0 ended unasked"
	if got != want {
		t.Errorf("warnings are\n%s\nwant\n%s", got, want)
	}
}

func TestOnlyAnOpenLoopCanBeLimitedByItsGenerator(t *testing.T) {
	late := result.Trial{Measures: result.Measures{Calls: 1, Lateness: result.Histogram{P99: 5}, Latency: result.Histogram{P99: 20}}}
	open := experiment.Load{Open: &experiment.Open{}}
	if limited(open, late) == "" {
		t.Error("5 ms late of 20 ms is the generator's doing")
	}
	if limited(experiment.Load{Burst: 10}, late) != "" {
		t.Error("a burst is due at once: nobody can send it in time")
	}
	if limited(experiment.Load{Closed: &experiment.Closed{Think: 1}}, late) == "" {
		t.Error("a user who has thought is due at a time, too")
	}
	late.Lateness.P99, late.Latency.P99 = 0.4, 1
	if limited(open, late) != "" {
		t.Error("under half a millisecond is on time")
	}
	late.Lateness.P99, late.Latency.P99 = 5, 100
	if limited(open, late) != "" {
		t.Error("a twentieth of the latency does not make it")
	}
}
