package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

const ms = time.Millisecond

// openTrial is a trial of an open loop that made the calls, each with a deadline of 20 ms.
func openTrial(t interface{ Fatal(...any) }, round int, calls []measure.Call, dropped int) result.Trial {
	recorder := measure.NewRecorder(0)
	for _, call := range calls {
		recorder.Record(call)
	}
	for range dropped {
		recorder.Drop(0, "")
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	record := Record{Config: experiment.Config{Load: experiment.Load{Open: &experiment.Open{}}}, Merged: seen, Callers: make([]CallerRecord, 1)}
	record.Config.Caller.Timeout = 20 * ms
	trial := record.Summarize(result.Trial{Round: round})
	if trial.Failed != "" {
		t.Fatal(trial.Failed)
	}
	return trial
}

// sent returns n calls that were due at once, sent late, and answered after service.
func sent(n int, late, service time.Duration) []measure.Call {
	all := make([]measure.Call, n)
	for i := range all {
		all[i] = measure.Call{Sent: late, Done: late + service, Backend: "b0", Code: measure.OK}
	}
	return all
}

// lateRun is a run of four trials of 2,000 calls, of which so many were sent 40 ms late.
func lateRun(t *testing.T, late int) result.Document {
	d := runOf(t, 10, 10, 10, 10)
	for i := range d.Arms[0].Trials {
		service := 10*ms + time.Duration(i)*10*time.Microsecond
		d.Arms[0].Trials[i] = openTrial(t, i+1, append(sent(2000-late, 0, service), sent(late, 40*ms, service)...), 0)
	}
	return Assemble(d)
}

// Every percentile is judged by the lateness of calls at that percentile.
func TestAGateOnP50IsNotBarredByLatenessAtP99(t *testing.T) {
	saturated := lateRun(t, 40)
	saturated.Arms[0].Trials[2].Limited, saturated.Arms[0].Trials[2].LimitedBy = "rpclab used 1.95 of 2 processors", result.LimitedByProcessors
	for name, test := range map[string]struct {
		run      result.Document
		p50, p99 string // reason; empty: the gate holds
	}{
		"late at p99":    {lateRun(t, 40), "", "rpclab sent calls up to 40.0 ms late (p99), at a latency of 50.0 ms"},
		"late at p50":    {lateRun(t, 1200), "rpclab sent calls up to 40.0 ms late (p50), at a latency of 50.0 ms", "(p99)"},
		"late at p99.9":  {lateRun(t, 4), "", ""},
		"not late":       {lateRun(t, 0), "", ""},
		"no processors":  {saturated, "rpclab used 1.95 of 2 processors", "rpclab used 1.95 of 2 processors"},
		"older document": {withoutKind(lateRun(t, 40)), "late (p99)", "late (p99)"},
	} {
		c := Compare(lateRun(t, 0), test.run, CompareOptions{Gates: gates(t, "p50 ratio < 6", "p99 ratio < 6")})
		for i, want := range []string{test.p50, test.p99} {
			g := c.Gates[i]
			if held := g.Outcome == "held"; held != (want == "") || !strings.Contains(g.Reason, want) {
				t.Errorf("%s: %s: %s: %q, want %q", name, g.Gate, g.Outcome, g.Reason, want)
			}
		}
	}
}

// Trials are marked for lateness at p50 and p99. Every other percentile is judged all the same.
func TestLatenessAtAPercentileBarsItsVerdictAndGate(t *testing.T) {
	open, burst := map[string]any{"load": map[string]any{"open": map[string]any{"rate": 1000}}}, map[string]any{"load": map[string]any{"burst": 12_000}}
	at := map[string][]measure.Call{ // 20 calls of 12,000 are late, or a fifth of calls of which 2 % take long
		"p99.9": append(sent(11_980, 0, 10*ms), sent(20, 40*ms, 10*ms)...),
		"p90":   slices.Concat(sent(9600, 0, 10*ms), sent(2160, 5*ms, 10*ms), sent(240, 5*ms, time.Second)),
		"":      sent(12_000, 0, 10*ms),
	}
	for _, c := range []struct {
		late   string
		config map[string]any
		barred string // percentile
	}{
		{"p99.9", open, "p99.9"},
		{"p90", open, "p90"},
		{"p99.9", map[string]any{"load": "1000 calls/s", "open": true}, "p99.9"},
		{"p99.9", map[string]any{"load": map[string]any{"closed": map[string]any{"users": 4, "think": "1ms"}}}, "p99.9"},
		{"p99.9", burst, ""}, // the time to send a burst is part of what is measured
		{"", open, ""},
	} {
		run := func(calls []measure.Call) result.Document {
			d := runOf(t, 10, 10, 10, 10)
			d.Arms[0].Config = c.config
			for i := range d.Arms[0].Trials {
				varied := slices.Clone(calls)
				for j := range varied {
					varied[j].Done += time.Duration(i) * 10 * time.Microsecond
				}
				d.Arms[0].Trials[i] = openTrial(t, i+1, varied, 0)
			}
			return Assemble(d)
		}
		late := run(at[c.late])
		if limited := late.Arms[0].Limited; limited != "" {
			t.Fatalf("late at %q: the trials are marked: %s", c.late, limited)
		}
		compared := Compare(run(at[""]), late, CompareOptions{Gates: gates(t, "p50 ratio < 200", "p90 ratio < 200", "p99 ratio < 200", "p999 ratio < 200")})
		for i, name := range []string{"p50", "p90", "p99", "p99.9"} {
			gate, v := compared.Gates[i], ratioOf(t, compared, "latency_"+strings.Replace(name, ".", "", 1))
			undecided := gate.Outcome == "not established" && v.Decision == "undecided" && v.Cause.Kind == result.CauseGenerator
			if barred := strings.Contains(gate.Reason, "late ("+name+")"); barred != (name == c.barred) || barred && !undecided || !barred && gate.Outcome != "held" {
				t.Errorf("late at %q, %v: %s is %s (%q), the verdict %s; want only %q barred", c.late, c.config, gate.Gate, gate.Outcome, gate.Reason, v.Decision, c.barred)
			}
		}
	}
}

func withoutKind(d result.Document) result.Document {
	for i := range d.Arms[0].Trials {
		d.Arms[0].Trials[i].LimitedBy = ""
	}
	return Assemble(d)
}

// Calls that failed are late without a latency of their own, so they are not part of the judgement.
func TestFailedCallsDoNotMakeTheGeneratorLate(t *testing.T) {
	calls := sent(980, 0, 33*ms)
	for _, call := range sent(20, 395*ms, 0) {
		call.Code = "UNAVAILABLE"
		calls = append(calls, call)
	}
	if trial := openTrial(t, 1, calls, 0); trial.Limited != "" || trial.Lateness.P99 < 395 || trial.AnsweredLateness == nil {
		t.Errorf("limited by %q with a lateness of %g ms at p99, want no limit", trial.Limited, trial.Lateness.P99)
	}
}

// The same holds for groups of blocks: here a fifth of the blocks have successful calls that are late, and most have one
// late call that failed.
func TestFailedCallsDoNotMakeAGroupOfBlocksLate(t *testing.T) {
	p99 := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == "latency_p99" })]
	var blocks []result.Trial
	for cycle := range 20 {
		late, failed := 0, 1
		if cycle%5 == 0 {
			late = 2
		}
		if cycle%10 == 9 {
			failed = 0
		}
		calls := append(sent(100-late-failed, 0, 33*ms), sent(late, 395*ms, 33*ms)...)
		for _, call := range sent(failed, 395*ms, 0) {
			call.Code = "UNAVAILABLE"
			calls = append(calls, call)
		}
		blocks = append(blocks, openTrial(t, cycle+1, calls, 0))
	}
	trial := MergeBlocks(result.Trial{Round: 1}, blocks)
	if b := trial.Blocks[1]; b.AnsweredLateness == nil || b.AnsweredLateness.P99 > 1 || trial.Blocks[9].AnsweredLateness != nil {
		t.Errorf("lateness of the successful calls: %+v, and of a block without failures %+v", b.AnsweredLateness, trial.Blocks[9].AnsweredLateness)
	}
	arms, _, cycles := inGroups(p99, []result.Arm{{Name: "a", Trials: []result.Trial{trial}}}, nil, 1)
	if got := p99.limit(arms[0], 0.03); trial.Limited != "" || cycles != 10 || got != "" {
		t.Errorf("the trial is limited by %q, its groups of %d cycles by %q, want no limit", trial.Limited, cycles, got)
	}
}

// A lost call counts as its deadline, however late it was sent.
func TestLatenessDoesNotLimitAPercentileOfLostCalls(t *testing.T) {
	p99 := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == "latency_p99" })]
	for lost, want := range map[int]string{60: "", 5: "rpclab sent calls up to 40.0 ms late (p99)"} {
		calls := append(sent(1900, 0, 10*ms), sent(40, 40*ms, 10*ms)...)
		for _, call := range sent(lost, 0, 20*ms) {
			call.Code = "DEADLINE_EXCEEDED"
			calls = append(calls, call)
		}
		trial := openTrial(t, 1, calls, 0)
		if got := p99.limit(result.Arm{Trials: []result.Trial{trial}}, 0.03); trial.LimitedBy != result.LimitedByLateness || (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("of %d calls %d were lost: limited by %q, the p99 by %q, want %q", len(calls), lost, trial.LimitedBy, got, want)
		}
	}
}

// Lateness is part of the latency, which counts from when a call was due.
func TestLatenessNeverExceedsLatency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.Int64Range(0, int64(time.Second))
		var calls []measure.Call
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			call := measure.Call{Due: time.Duration(times.Draw(t, "due")), Backend: "b0", Code: rapid.SampledFrom([]string{measure.OK, measure.OK, "UNAVAILABLE"}).Draw(t, "code")}
			call.Sent = call.Due + time.Duration(times.Draw(t, "late"))
			call.Done = call.Sent + time.Duration(times.Draw(t, "service"))/100
			calls = append(calls, call)
		}
		trial := openTrial(t, 1, calls, rapid.IntRange(0, 3).Draw(t, "dropped"))
		var late, latency float64
		var percentile string
		if _, err := fmt.Sscanf(trial.Limited, "rpclab sent calls up to %g ms late (%3s), at a latency of %g ms", &late, &percentile, &latency); trial.Limited != "" && (err != nil || late > latency) {
			t.Errorf("%q, %v", trial.Limited, err)
		}
		for _, pair := range [][2]result.Histogram{{trial.Lateness, trial.Latency}, {trial.AnswersLateness(), trial.Answers()}} {
			if pair[0].P50 > pair[1].P50 || pair[0].P99 > pair[1].P99 || pair[0].Max > pair[1].Max {
				t.Errorf("lateness p50 %g, p99 %g, max %g ms, more than the latency's %g, %g, %g", pair[0].P50, pair[0].P99, pair[0].Max, pair[1].P50, pair[1].P99, pair[1].Max)
			}
		}
	})
}

// pacedBlock is a block of an open loop with 50 calls in 100 ms, of which the first so many are sent late.
func pacedBlock(t *testing.T, cycle, late int, by time.Duration) result.Trial {
	t.Helper()
	return pacedTrial(t, cycle, 50, 2*ms+time.Duration(cycle%3)*10*time.Microsecond, by, func(i int) bool { return i < late })
}

// pacedTrial is a trial of an open loop with so many calls, one each 2 ms. Some of them are sent late.
func pacedTrial(t *testing.T, round, calls int, service, by time.Duration, late func(i int) bool) result.Trial {
	t.Helper()
	recorder := measure.NewRecorder(0)
	recorder.CountWindow(time.Duration(calls) * 2 * ms)
	for i := range calls {
		due := time.Duration(i) * 2 * ms
		call := measure.Call{Due: due, Sent: due, Backend: "b0", Code: measure.OK}
		if late(i) {
			call.Sent += by
		}
		call.Done = call.Sent + service
		recorder.Record(call)
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	record := Record{Config: experiment.Config{Load: experiment.Load{Open: &experiment.Open{}}}, Merged: seen, Callers: make([]CallerRecord, 1)}
	return record.Summarize(result.Trial{Round: round})
}

// The latest calls can make up most of the mean, although they are too few for p50 and p99.
func TestTheMeanIsLimitedByFewCallsThatAreVeryLate(t *testing.T) {
	d := result.Document{Baseline: "one", Rounds: 4}
	for _, arm := range []string{"one", "same"} {
		a := result.Arm{Name: arm, Config: map[string]any{"load": map[string]any{"open": map[string]any{"rate": 500}}}}
		for round := range 4 {
			service := 2*ms + time.Duration(round)*time.Microsecond
			a.Trials = append(a.Trials, pacedTrial(t, round+1, 1000, service, 100*ms, func(i int) bool { return i < 8 }))
		}
		if limited := a.Trials[0].Limited; limited != "" {
			t.Errorf("a trial is limited: %s", limited)
		}
		d.Arms = append(d.Arms, a)
	}
	for _, v := range Assemble(d).Verdicts {
		want, judged := map[string]string{"latency_p50": "equivalent", "rate": "equivalent", "latency_mean": "undecided"}[v.Metric]
		if judged && (v.Decision != want || v.Unfit != (want == "undecided")) {
			t.Errorf("the verdict on %s is %s, %q; want %s", v.Metric, v.Decision, v.Reason, want)
		}
	}
}

// The rate of an open loop and the mean do not depend on calls that were sent a millisecond late, and do on a generator that
// falls behind. In a closed loop with think time each late call delays the next.
func TestFewLateCallsLeaveTheRateOfAnOpenLoopAndTheMean(t *testing.T) {
	open, closed := map[string]any{"open": map[string]any{"rate": 500}}, map[string]any{"closed": map[string]any{"users": 5}}
	for name, c := range map[string]struct {
		load       map[string]any
		late       int // of the 50 calls of each block
		by         time.Duration
		rate, mean string
	}{
		"on time":                   {open, 0, 0, "equivalent", "equivalent"},
		"a few are a little late":   {open, 1, 800 * time.Microsecond, "equivalent", "equivalent"},
		"a few are very late":       {open, 1, 40 * ms, "undecided", "undecided"},
		"all are late":              {open, 50, 900 * time.Microsecond, "equivalent", "undecided"},
		"a few late calls of users": {closed, 1, 800 * time.Microsecond, "undecided", "equivalent"},
	} {
		d := result.Document{Baseline: "one", Design: "interleaved", Rounds: 4}
		for _, arm := range []string{"one", "same"} {
			a := result.Arm{Name: arm, Config: map[string]any{"load": c.load}}
			for round := range 4 {
				var blocks []result.Trial
				for i := range 10 {
					blocks = append(blocks, pacedBlock(t, 10*round+i+1, c.late, c.by))
				}
				a.Trials = append(a.Trials, MergeBlocks(result.Trial{Round: round + 1}, blocks))
			}
			if limited := a.Trials[0].LimitedBy == result.LimitedByLateness; limited != (c.late > 0) {
				t.Errorf("%s: a trial is limited by %q, want a limit: %v", name, a.Trials[0].Limited, c.late > 0)
			}
			d.Arms = append(d.Arms, a)
		}
		for _, v := range Assemble(d).Verdicts {
			want, judged := map[string]string{"rate": c.rate, "latency_mean": c.mean}[v.Metric]
			if judged && (v.Decision != want || v.Unfit != (want == "undecided")) {
				t.Errorf("%s: the verdict on %s is %s, %q; want %s", name, v.Metric, v.Decision, v.Reason, want)
			}
		}
	}
}

// A late call has the backend that it would have had, and it fails or arrives. What it costs may be different.
func TestLateCallsLimitNoMetricThatTheyLeaveAsItIs(t *testing.T) {
	late := result.Arm{Trials: []result.Trial{{Round: 1, Limited: "late", LimitedBy: result.LimitedByLateness}}}
	busy := result.Arm{Trials: []result.Trial{{Round: 1, Limited: "busy", LimitedBy: result.LimitedByProcessors}}}
	late.Limited, busy.Limited = "late", "busy"
	for _, m := range slices.Concat(metrics, namedMetrics) {
		want := "late"
		if m.at != nil || slices.Contains([]string{"errors", "balance", "failed", "followed"}, m.name) {
			want = ""
		}
		if got := m.limitOfTrials(late); got != want {
			t.Errorf("%s, calls late: limited by %q, want %q", m.name, got, want)
		}
		if got := m.limitOfTrials(busy); got != "busy" {
			t.Errorf("%s, processors busy: limited by %q", m.name, got)
		}
	}
}
