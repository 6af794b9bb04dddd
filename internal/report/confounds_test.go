package report

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

func TestARowOfAConfoundHasMediansAndTheRemainingGap(t *testing.T) {
	d := result.Document{}
	for name, elapsed := range map[string][]float64{"a": {990, 1000, 1100}, "c": {600, 610, 590}, "b": {500, 500, 510}} {
		arm := result.Arm{Name: name, Measures: result.Measures{Calls: 1}}
		for i, ms := range elapsed {
			arm.Trials = append(arm.Trials, result.Trial{Round: i + 1, Measures: result.Measures{ElapsedMS: ms}})
		}
		d.Arms = append(d.Arms, arm)
	}
	a := result.Account{Published: "a", Controlled: "c", Baseline: "b", Metric: "elapsed", GapMS: 500, Remains: 0.2, CI: [2]float64{0.15, 0.26}}
	if got, want := accountRow(d, d.ArmsByKey(), a), []string{"elapsed ms", "1,000", "600.0", "500.0", "500.0", "20 % (15 to 26)", ""}; !slices.Equal(got, want) {
		t.Errorf("the row is %q\nwant %q", got, want)
	}
	a.ControlledBaseline = "c"
	if got := accountRow(d, d.ArmsByKey(), a)[3]; got != "500.0 and 600.0" {
		t.Errorf("the baselines of two arms are %q, want 500.0 and 600.0", got)
	}
	a.Remains, a.CI = -0.01, [2]float64{-0.03, 0.1}
	if got := accountRow(d, d.ArmsByKey(), a)[5]; got != "−1 % (−3 to 10)" {
		t.Errorf("an overcorrected gap is %q, want −1 %% (−3 to 10)", got)
	}
	a.Reason, a.CI = "the gap itself is not established", [2]float64{}
	if got := accountRow(d, d.ArmsByKey(), a)[5]; got != none {
		t.Errorf("a gap that is not established is %q, want %q", got, none)
	}
}

// A dash is of a gap that is not established, too.
func TestTheCaptionOfConfoundsExplainsTheDash(t *testing.T) {
	arms := []result.Arm{{Name: "a"}, {Name: "c"}, {Name: "b"}}
	d := result.Document{Baseline: "b", Arms: arms, Confounds: []result.Confound{{Published: "a", Controlled: "c", What: "more"}},
		Accounts: []result.Account{{Published: "a", Controlled: "c", Baseline: "b", Metric: "elapsed", Reason: "the generator was late"}}}
	p := &page{}
	confounds(p, d)
	var text strings.Builder
	for _, b := range p.blocks {
		text.WriteString(b.text + "\n")
	}
	for _, want := range []string{"not established: the generator was late", "(–: not established, for the reason below the table, or the controlled arm is the baseline)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

// An older result has confounds without accounts.
func TestAnOlderResultNamesItsConfounds(t *testing.T) {
	d := result.Document{Baseline: "b", Arms: []result.Arm{{Name: "a"}, {Name: "c"}, {Name: "b"}},
		Confounds: []result.Confound{{Published: "a", Controlled: "c", What: "new-channel connects."}, {Published: "a", Controlled: "left-out", What: "more"}}}
	var text strings.Builder
	p := &page{}
	confounds(p, d)
	for _, b := range p.blocks {
		text.WriteString(b.text + "\n")
	}
	if got := text.String(); !strings.Contains(got, "a against c: new-channel connects.") || !strings.Contains(got, "did not compute the remaining gap") || strings.Contains(got, "left-out") {
		t.Errorf("the report is\n%s\nwant the confound of a and c, and none with the missing arm left-out", got)
	}
}

func TestTheMedianOfLostCallsIsABound(t *testing.T) {
	arm := result.Arm{Trials: []result.Trial{{Measures: result.Measures{ElapsedMS: 700, Latency: result.Histogram{P50: 20_000, Lost: 0.6}}}}}
	arm.Latency.Lost = 0.6
	for metric, want := range map[string]string{"latency_p50": ">20,000", "elapsed": "700.0"} {
		if got := trialMedian(arm, metric); got != want {
			t.Errorf("the median of %s is %s, want %s", metric, got, want)
		}
	}
}
