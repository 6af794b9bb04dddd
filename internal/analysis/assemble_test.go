package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// trial returns a trial whose calls all took latencyMS, on backends with the given counts.
func trial(t *testing.T, round int, latencyMS float64, counts ...uint64) result.Trial {
	t.Helper()
	h := hdr.NewPacked(1, int64(measure.MaxDuration), 3)
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
	x.Resources.Proxy = x.Resources.Client
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

// A ratio to lost calls is a bound of the true ratio.
func TestTheRatioOfAnArmThatLosesCallsIsABound(t *testing.T) {
	losing, reverse := arms(t, 10, 10, 10, 10), arms(t, 10, 10, 10, 10)
	for i := range losing.Arms[1].Trials {
		for _, x := range []*result.Trial{&losing.Arms[1].Trials[i], &reverse.Arms[0].Trials[i]} {
			x.Dropped = x.Calls * 2
			if err := x.CountLost(time.Second, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for want, d := range map[result.RatioBound]result.Document{result.LowerBound: losing, result.UpperBound: reverse, "": arms(t, 20, 20, 20, 20)} {
		if v := decision(t, d); v.Bound != want || v.Decision == "undecided" {
			t.Errorf("a ratio of %g is a bound %q, %s; want %q", v.Ratio, v.Bound, v.Decision, want)
		}
	}
}

func TestTrialsAreMergedIntoTheirArm(t *testing.T) {
	d := arms(t, 20, 40, 30)
	for i, message := range []string{"gone", "refused", "gone"} {
		trial := &d.Arms[1].Trials[i]
		trial.Errors, trial.Reasons = map[string]uint64{"UNAVAILABLE": 2}, map[string][]failure.Reason{"UNAVAILABLE": {{Message: message, Calls: 2}}}
	}
	d = Assemble(d)
	a := d.Arms[1]
	if got, want := a.Reasons["UNAVAILABLE"], (failure.Reason{Message: "gone", Calls: 4}); len(got) != 2 || got[0] != want {
		t.Errorf("the reasons are %v, want two, of which one is %v", got, want)
	}
	if a.Calls != 180 || a.ElapsedMS != 30 || a.Resources.Client.CPU != 30 || a.Resources.Client.RSS != 3 || a.Resources.Proxy != a.Resources.Client {
		t.Errorf("%d calls, elapsed %g ms, %+v; want 180 calls, medians of 30 and the largest memory", a.Calls, a.ElapsedMS, a.Resources)
	}
	if p := a.Latency.P50; p < 29.9 || p > 30.1 {
		t.Errorf("the median of the merged calls is %g, want 30", p)
	}
	if a.Balance.Jain != 0.5 {
		t.Errorf("Jain's index is %g, want 0.5, since one of two backends got all calls", a.Balance.Jain)
	}
}

// A stall near the end of a load takes no time from its rate.
// Arms that differ by a tenth are equivalent within a margin of 15 %.
func TestVerdictsUseTheMarginOfTheExperiment(t *testing.T) {
	d := arms(t, 11, 11.01, 11.02, 11.03, 11.04)
	if v := decision(t, d); v.Decision != "worse" {
		t.Errorf("with the default margin: %s, want worse", v.Decision)
	}
	d.Margin = 0.15
	if v := decision(t, d); v.Decision != "equivalent" {
		t.Errorf("with a margin of 15 %%: %s, %s; want equivalent", v.Decision, v.Reason)
	}
}

func TestLatenciesOfMessagesAreMerged(t *testing.T) {
	d := arms(t, 20, 40)
	for i := range d.Arms[1].Trials {
		h := d.Arms[1].Trials[i].Latency
		d.Arms[1].Trials[i].Messages = &h
	}
	d = Assemble(d)
	if m := d.Arms[1].Messages; m == nil || m.P50 != d.Arms[1].Latency.P50 || m.HDR == "" {
		t.Errorf("the latencies of messages are %+v, want those of the trials", m)
	}
	if m := d.Arms[0].Messages; m != nil {
		t.Errorf("an arm without streams has the latencies of messages %+v, want none", m)
	}
}

// Responses of failed calls count, so the warning is certain: successful calls had that many at most.
func TestStreamsThatTheServerEndedFirstAreAWarning(t *testing.T) {
	five := &result.Service{Calls: map[string]result.ServiceCall{"watch": {Stream: &result.ServiceCallStream{Messages: 5}}}}
	for _, c := range []struct {
		service   *result.Service
		calls     uint64
		failed    uint64
		responses int
		want      string
	}{
		{five, 10, 0, 30, "10 calls had 30 responses, not 5 each as stream.messages says, because the server ended streams first"},
		{five, 10, 4, 29, "6 successful calls had 29 responses at most, not 5 each as stream.messages says, because the server ended streams first"},
		{five, 10, 0, 0, "10 calls had 0 responses, not 5 each"},
		{five, 10, 0, 50, ""},
		{five, 10, 4, 30, ""},
		{five, 10, 10, 0, ""},
		{nil, 10, 0, 10, ""},
		{&result.Service{Calls: map[string]result.ServiceCall{"watch": {Stream: &result.ServiceCallStream{Messages: 5, DurationMS: 10}}}}, 10, 0, 30, ""},
	} {
		arm := result.Arm{Name: "a", OwnService: c.service, Measures: result.Measures{Calls: c.calls, Errors: map[string]uint64{"UNAVAILABLE": c.failed}}}
		if c.responses > 0 {
			times := hdr.NewPacked(1, 1000, 2)
			if err := times.RecordValues(1, int64(c.responses)); err != nil {
				t.Fatal(err)
			}
			arm.Messages = new(result.FromHDR(times))
		}
		if got := strings.Join(warnings(arm), "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d responses to %d calls, %d of them failed: the warning is %q, want %q", c.responses, c.calls, c.failed, got, c.want)
		}
	}
}

func TestBalanceIsComputedForEachTrial(t *testing.T) {
	d := arms(t)
	d.Arms[1].Trials = []result.Trial{trial(t, 1, 10, 60, 0), trial(t, 2, 10, 0, 60)}
	if a := Assemble(d).Arms[1]; a.Balance.Jain != 0.5 || a.Backends["b0"] != a.Backends["b1"] {
		t.Errorf("Jain's index is %g with backends %v, want 0.5, that of each trial", a.Balance.Jain, a.Backends)
	}
}

func decision(t *testing.T, d result.Document) result.Verdict {
	t.Helper()
	for _, v := range Assemble(d).Verdicts {
		if v.A == "other" && v.Metric == "latency_p50" {
			return v
		}
	}
	t.Fatal("the document has no verdict on the other arm")
	return result.Verdict{}
}

func TestLatenciesDecideAVerdict(t *testing.T) {
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

func TestUnreliableNumbersLeaveAVerdictUndecided(t *testing.T) {
	for what, spoil := range map[string]func(*result.Trial){
		"the load generator was the bottleneck": func(x *result.Trial) { x.Limited = "late" },
		"calls of other failed":                 func(x *result.Trial) { x.Errors["UNAVAILABLE"] = 10 },
		"failed or were dropped":                func(x *result.Trial) { x.Dropped = 10 },
		"1 of 5 rounds of other":                func(x *result.Trial) { x.Failed = "the caller died" },
	} {
		d := arms(t, 20, 20, 20, 20, 20)
		spoil(&d.Arms[1].Trials[1])
		if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, what) {
			t.Errorf("the verdict is %s, %s; want undecided: %s", v.Decision, v.Reason, what)
		}
	}
}

// A lost call counts as its deadline, so the arm that loses calls is slower. Two arms whose medians are
// both of lost calls have no verdict.
func TestAnArmThatLosesCallsIsSlower(t *testing.T) {
	d := arms(t, 5, 5.1, 4.9, 5, 5)
	lose := func(arm *result.Arm) {
		for i := range arm.Trials {
			x := &arm.Trials[i]
			x.Errors = map[string]uint64{"UNAVAILABLE": 3 * x.Calls}
			x.Calls *= 4
			if err := x.CountLost(30*time.Second, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	lose(&d.Arms[1])
	if v := decision(t, d); v.Decision != "worse" || v.Ratio < 1000 {
		t.Errorf("other loses 75 %% of its calls and answers twice as fast: %s, ratio %g, %s; want worse", v.Decision, v.Ratio, v.Reason)
	}
	if a := Assemble(d).Arms[1]; a.Latency.Lost != 0.75 || a.Answers().P50 > 6 || !a.Latency.AtLeast(50) {
		t.Errorf("lost are %v and p50 of the answered calls is %v, want 0.75 and 5", a.Latency.Lost, a.Answers().P50)
	}
	lose(&d.Arms[0])
	if v := decision(t, d); v.Decision != "undecided" || !strings.Contains(v.Reason, "p50 is known only to exceed the deadline") {
		t.Errorf("both lose 75 %% of their calls: %s, %s; want undecided", v.Decision, v.Reason)
	}
}

// An undecided comparison of an arm that lost most calls of one round may be decided by more rounds.
func TestALowerBoundLeavesAVerdictOpen(t *testing.T) {
	d := arms(t, 5, 5.1, 4.9, 5, 5)
	x := &d.Arms[1].Trials[1]
	x.Errors = map[string]uint64{"UNAVAILABLE": 3 * x.Calls}
	x.Calls *= 4
	if err := x.CountLost(30*time.Second, 0); err != nil {
		t.Fatal(err)
	}
	v := decision(t, d)
	if v.Decision != "undecided" || v.Bound != result.LowerBound || v.Unfit || strings.Contains(v.Reason, "known only to exceed") {
		t.Errorf("one round of five has a lower bound: %+v; want undecided by its rounds, not unfit", v)
	}
}

func TestEveryPairIsComparedOnce(t *testing.T) {
	d := arms(t, 1, 2, 3, 4)
	d.Arms = append(d.Arms, result.Arm{Name: "again", Control: "base"}, result.Arm{Name: "published"})
	d.Confounds = []result.Confound{{Published: "published", Controlled: "other"}}
	var got []string
	for _, v := range Assemble(d).Verdicts {
		if v.Metric == "latency_p99" {
			got = append(got, string(v.Kind)+" "+v.A+"/"+v.B)
		}
	}
	want := "baseline other/base, control again/base, baseline published/base, confound published/other"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("compared pairs: %s\nwant %s", s, want)
	}
}

func TestAWarningNamesEachFailedTrial(t *testing.T) {
	d := arms(t, 10)
	d.Arms[0].Trials = append(d.Arms[0].Trials, result.Trial{Round: 2, Failed: "the caller died after 1.2 s"}, result.Trial{Round: 3, Failed: "the caller died after 11 s"})
	d.Arms[1].Cell = result.Cell{"load.burst": 300}
	d.Arms[1].Trials[0].Failed = "the caller died"
	d.Arms[1].Trials[0].Lost = []string{"server b0 exited unexpectedly"}
	got := strings.Join(Assemble(d).Warnings, "\n")
	want := "base, rounds 2 and 3 gave no measurement, first: the caller died after 1.2 s\n" +
		"other at load.burst=300, round 1 gave no measurement: the caller died\n" +
		"other at load.burst=300, round 1: server b0 exited unexpectedly"
	if got != want {
		t.Errorf("warnings are\n%s\nwant\n%s", got, want)
	}
}

func TestARunIsDecidedWhenItsHeadlineVerdictsAre(t *testing.T) {
	if !Decided(arms(t, 20, 20, 20, 20)) {
		t.Error("a run of arms that differ by 100 % is undecided, want decided")
	}
	if Decided(arms(t, 5, 20, 10, 2)) {
		t.Error("a run of noise is decided, want undecided")
	}
}

func TestAnUndecidedVerdictHasItsCauseAsFields(t *testing.T) {
	lost, limited, open := arms(t, 20, 20, 20, 20), arms(t, 20, 20, 20, 20), arms(t, 10, 11, 10, 9)
	for i := range lost.Arms[0].Trials {
		lost.Arms[0].Trials[i].Dropped = 60
	}
	limited.Arms[1].Trials[0].Limited = "rpclab sent calls up to 20.0 ms late"
	for name, c := range map[string]struct {
		d      result.Document
		metric string
		want   result.Cause
	}{
		"lost calls":     {lost, "latency_p50", result.Cause{Kind: result.CauseLostCalls, Arm: "base", Share: 0.5}},
		"the generator":  {limited, "latency_p50", result.Cause{Kind: result.CauseGenerator, Arm: "other"}},
		"too few calls":  {arms(t, 20, 20, 20, 20), "latency_p99", result.Cause{Kind: result.CauseCalls, Arm: "other", Have: 60, Needed: 1000}},
		"too few rounds": {arms(t, 20, 20), "latency_p50", result.Cause{Kind: result.CauseRounds, Have: 2, Needed: 4}},
		"noise":          {open, "latency_p50", result.Cause{Kind: result.CauseInterval, Have: 4}},
	} {
		for _, v := range Assemble(c.d).Verdicts {
			if v.Metric != c.metric {
				continue
			}
			if v.Cause != nil && v.Cause.Kind == result.CauseInterval {
				v.Cause.Needed = 0
			}
			if v.Cause == nil || *v.Cause != c.want || v.Reason == "" {
				t.Errorf("%s: %q, %+v, want %+v", name, v.Reason, v.Cause, c.want)
			}
		}
	}
	for _, v := range Assemble(arms(t, 20, 20, 20, 20)).Verdicts {
		if (v.Decision == "undecided") != (v.Cause != nil) {
			t.Errorf("%s is %s with the cause %+v, want a cause if undecided and else none", v.Metric, v.Decision, v.Cause)
		}
	}
}

func TestEveryMeasuredMetricHasAVerdict(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	got := map[string]string{}
	for _, v := range Assemble(d).Verdicts {
		got[v.Metric] = v.Decision
		if headline := v.Metric == "latency_p50" || v.Metric == "latency_p99"; headline == v.Secondary {
			t.Errorf("%s: secondary is %t, want %t", v.Metric, v.Secondary, !headline)
		}
	}
	for metric, want := range map[string]string{
		"latency_mean": "worse", "client_cpu": "worse", "latency_p999": "undecided",
		"errors": "", "server_cpu": "", "convergence": "", "rate": "",
	} {
		if got[metric] != want {
			t.Errorf("%s: %q, want %q", metric, got[metric], want)
		}
	}
}

func TestOnlyScheduledCallsCanBeLate(t *testing.T) {
	late := result.Measures{Calls: 1, Lateness: result.Histogram{P99: 5}, Latency: result.Histogram{P99: 20}}
	open := experiment.Load{Open: &experiment.Open{}}
	if limited, _ := generatorLimit(open, late); limited == "" {
		t.Error("5 ms late at a latency of 20 ms: the load generator was not the bottleneck, want it to be")
	}
	if limited, _ := generatorLimit(experiment.Load{Burst: 10}, late); limited != "" {
		t.Error("the load generator was the bottleneck of a burst, want not, since its calls are due at once")
	}
	if limited, _ := generatorLimit(experiment.Load{Closed: &experiment.Closed{Think: 1}}, late); limited == "" {
		t.Error("late users with think time: the load generator was not the bottleneck, want it to be")
	}
}

func TestAnArmHasTheConfigurationFilesOfItsFirstTrialWithFiles(t *testing.T) {
	d := arms(t, 20, 40, 30)
	d.Arms[1].Trials[1].Files = map[string]string{"envoy.yaml": "second"}
	d.Arms[1].Trials[2].Files = map[string]string{"envoy.yaml": "third"}
	for what, a := range map[string]result.Arm{"once": Assemble(d).Arms[1], "twice": Assemble(Assemble(d)).Arms[1]} {
		if a.Files["envoy.yaml"] != "second" || a.Trials[1].Files != nil || a.Trials[2].Files != nil {
			t.Errorf("assembled %s: the files are %v, and in trials %v and %v; want the second's in the arm alone", what, a.Files, a.Trials[1].Files, a.Trials[2].Files)
		}
	}
	if d.Arms[1].Trials[1].Files == nil {
		t.Error("Assemble changed its argument")
	}
}
