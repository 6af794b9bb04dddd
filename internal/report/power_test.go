package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
)

func TestAnUndecidedRunSaysHowLongARunMustBe(t *testing.T) {
	d := channels()
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.A == "kuberesolver" && !v.Secondary {
			v.Power = &result.Power{Ratio50: 1.0714, Ratio80: 1.0982, Ratio95: 1.124, Error: 0.02, Freedom: 4}
		}
	}
	d.Longer = []result.Longer{{Metric: "latency_p50", Difference: 0.05, Rounds: 12, RoundsCI: [2]int{8, 40}, MoreMS: 40_000, MoreCI: [2]float64{15_000, 200_000}}}
	want := "To detect a difference of 5 % at p50, use --rounds 12: 40 s longer (15 s to 3.3 min)."
	for _, full := range []bool{false, true} {
		var text bytes.Buffer
		if err := Terminal(&text, d, Options{Full: full}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("full %t: the report lacks %q:\n%s", full, want, text.String())
		}
		if row := "kuberesolver p50 7.2 % 9.9 % 13 %"; full && !strings.Contains(strings.Join(strings.Fields(text.String()), " "), row) {
			t.Errorf("the full report lacks %q:\n%s", row, text.String())
		}
	}
	d.Partial = true
	var text bytes.Buffer
	if err := Terminal(&text, d, Options{}); err != nil || strings.Contains(text.String(), "To detect") {
		t.Errorf("a partial run advises, too:\n%s", text.String())
	}
}

// Advice is left out where a summary would have over 12 lines with it.
func TestAdviceDoesNotMakeASummaryLong(t *testing.T) {
	d := channels()
	d.Warnings = []string{"other programs used 79 % of the CPU time"}
	d.Longer = []result.Longer{{Metric: "latency_p50", Difference: 0.05, Rounds: 12, RoundsCI: [2]int{8, 40}, MoreMS: 40_000, MoreCI: [2]float64{15_000, 200_000}}}
	var text bytes.Buffer
	if err := Terminal(&text, d, Options{}); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text.String(), "\n\n")
	lines := slices.DeleteFunc(strings.Split(rest, "\n"), func(line string) bool { return line == "" })
	if len(lines) > 12 {
		t.Errorf("%d lines after the answer, want at most 12:\n%s", len(lines), text.String())
	}
}

// The flags repeat what made the loads of this run and ended it.
func TestALongerRunKeepsTheFlagsOfThisRun(t *testing.T) {
	l := result.Longer{Metric: "latency_p50", Difference: 0.1, Rounds: 30, MoreMS: 40_000, MoreCI: [2]float64{15_000, 90_000}}
	for want, d := range map[string]result.Document{
		"To detect a difference of 10 % at p50, use --rounds 30: 40 s longer (15 to 90 s).":         {},
		"To detect a difference of 10 % at p50, use --quick --rounds 30: 40 s longer (15 to 90 s).": {Quick: true, TimeLimitMS: 60_000, Ended: result.EndedRounds},
		"To detect a difference of 10 % at p50, use --for 1m5s: 40 s longer (15 to 90 s).":          {TimeLimitMS: 25_000, Looks: []int{1, 2, 4}},
		"To detect a difference of 10 % at p50, use --quick --for 1m: 40 s longer (15 to 90 s).":    {TimeLimitMS: 20_000, Quick: true, Ended: result.EndedTime},
		"To detect a difference of 10 % at p50, use --for 16m: 40 s longer (15 to 90 s).":           {TimeLimitMS: 15 * 60_000, Looks: []int{1, 2, 4}},
		"To detect a difference of 10 % at p50, use --for 50s: 40 s longer (15 to 90 s).":           {TimeLimitMS: 10_000, Looks: []int{1, 2, 4}},
	} {
		if got := longerInWords(d, l); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTimesAreSaidInTwoDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Millisecond: "1 s", 40 * time.Second: "40 s", 98 * time.Second: "98 s", 100 * time.Second: "1.7 min",
		2 * time.Minute: "2 min", 25 * time.Minute: "25 min", 100 * time.Minute: "1.7 h", 30 * time.Hour: "30 h",
		99500 * time.Millisecond: "1.7 min", 99*time.Minute + 45*time.Second: "1.7 h", 120 * time.Hour: "120 h",
	} {
		if got := about(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Isolated arms without events could take turns, which shows smaller differences of latency.
func TestAnUndecidedLatencyOfIsolatedArmsNamesTheOtherDesign(t *testing.T) {
	undecided := result.Verdict{Metric: "latency_p50", A: "a", B: "b", Kind: result.OfBaseline, Decision: "undecided",
		Power: &result.Power{}, Cause: &result.Cause{Kind: result.CauseInterval}}
	for name, c := range map[string]struct {
		change func(*result.Document)
		want   bool
	}{
		"isolated":    {func(d *result.Document) {}, true},
		"in turns":    {func(d *result.Document) { d.Design = "interleaved" }, false},
		"with events": {func(d *result.Document) { d.Events = []result.Event{{What: "kill 1"}} }, false},
		"a search":    {func(d *result.Document) { d.Arms = []result.Arm{{Capacity: &result.Capacities{}}} }, false},
		"a ramp": {func(d *result.Document) {
			d.Arms = []result.Arm{{Config: map[string]any{"load": map[string]any{"closed": map[string]any{"ramp": "10s"}}}}}
		}, false},
		"published": {func(d *result.Document) { d.Published = []result.Published{{}} }, false},
		"decided":   {func(d *result.Document) { d.Verdicts[0].Cause = nil }, false},
		"failed":    {func(d *result.Document) { d.Verdicts[0].Metric = "failed" }, false},
	} {
		d := result.Document{Design: "isolated", Verdicts: []result.Verdict{undecided}}
		c.change(&d)
		if got := turnsWouldHelp(d); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
