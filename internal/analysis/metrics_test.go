package analysis

import (
	"math"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// on is the verdict on the second arm for one metric.
func on(d result.Document, metric string) (v result.Verdict, there bool) {
	for _, v := range Assemble(d).Verdicts {
		if v.A == "other" && v.Metric == metric {
			return v, true
		}
	}
	return v, false
}

// An arm with ten times the calls and the same share of errors has neither fewer errors nor more.
func TestErrorsDoNotDependOnTheNumberOfCalls(t *testing.T) {
	errors := func(few, many uint64) (result.Verdict, bool) {
		d := arms(t, 10, 10, 10, 10, 10)
		for i := range 5 {
			d.Arms[0].Trials[i].Calls, d.Arms[0].Trials[i].Errors["UNAVAILABLE"] = 2_000, few
			d.Arms[1].Trials[i].Calls, d.Arms[1].Trials[i].Errors["UNAVAILABLE"] = 20_000, many
		}
		return on(d, "errors")
	}
	if v, there := errors(0, 0); there {
		t.Errorf("no call failed, but errors have the verdict %s (ratio %g)", v.Decision, v.Ratio)
	}
	for _, c := range []struct {
		few, many uint64
		ratio     float64
		decision  string
	}{{1, 10, 1, "equivalent"}, {1, 0, 1. / 3, "better"}, {0, 10, 3, "worse"}} {
		if v, _ := errors(c.few, c.many); v.Decision != c.decision || math.Abs(v.Ratio-c.ratio) > 1e-9 {
			t.Errorf("%d of 2,000 and %d of 20,000 calls failed: %s (ratio %g), want %s (%g)", c.few, c.many, v.Decision, v.Ratio, c.decision, c.ratio)
		}
	}
}

func TestConvergenceIsThatOfTheSlowestEvent(t *testing.T) {
	restored := func(ms ...float64) (x result.Trial) {
		for _, took := range ms {
			x.Events = append(x.Events, result.Event{Took: result.Took{BalanceRestored: &took}})
		}
		return x
	}
	if got := converged(restored(300, 900, 100)); got != 900 {
		t.Errorf("convergence took %g ms, want 900", got)
	}
	never := restored(300, 900)
	never.Events[0].Took.BalanceRestored = nil
	for name, x := range map[string]result.Trial{"never balanced": never, "no event": {}} {
		if got := converged(x); !math.IsNaN(got) {
			t.Errorf("%s: convergence took %g ms, want NaN", name, got)
		}
	}
}

// Balance is measured every 100 ms: arms that differ by 2 ms may appear to differ by 100 ms, or not at
// all, in every round.
func TestDifferencesOfConvergenceUnderAnIntervalAreUndecided(t *testing.T) {
	for _, c := range []struct {
		base, other float64
		want        string
	}{{1000, 1000, "undecided"}, {1000, 900, "undecided"}, {1000, 1100, "undecided"}, {1000, 1200, "worse"}, {1000, 700, "better"}} {
		d := arms(t, 10, 10, 10, 10, 10)
		for i, took := range []*float64{&c.base, &c.other} {
			for j := range d.Arms[i].Trials {
				d.Arms[i].Trials[j].Events = []result.Event{{Took: result.Took{BalanceRestored: took}}}
			}
		}
		if v, _ := on(d, "convergence"); v.Decision != c.want || c.want == "undecided" && !strings.Contains(v.Reason, "100 ms") {
			t.Errorf("%g against %g ms: %s, %s; want %s", c.other, c.base, v.Decision, v.Reason, c.want)
		}
	}
}

// More rounds do not replace a missing value.
func TestARunUntilDecidedDoesNotWaitForAMissingValue(t *testing.T) {
	d := arms(t, 5, 20, 10, 2)
	if Decided(d) {
		t.Error("the run ends, although more rounds may decide it")
	}
	d.Arms[1].Trials[2].Failed = "the caller died"
	if !Decided(d) {
		t.Error("the run continues, although a trial has no value")
	}
}

func TestOneBackendHasNoBalance(t *testing.T) {
	d := arms(t, 10, 10, 10, 10)
	for i := range d.Arms {
		for j := range d.Arms[i].Trials {
			d.Arms[i].Trials[j].Backends, d.Arms[i].Trials[j].Balance.Jain = map[string]uint64{"b0": 60}, 1
			d.Arms[i].Trials[j].Groups = [][]uint64{{60}}
		}
	}
	if v, there := on(d, "balance"); there {
		t.Errorf("balance has the verdict %s, want none", v.Decision)
	}
	d.Headline = []string{"balance"} // then it has one, which says why it decides nothing
	v, _ := on(d, "balance")
	if want := "balance is not compared: " + v.A + " has one backend"; v.Decision != "undecided" || v.Reason != want || v.Cause.Kind != result.CauseValue {
		t.Errorf("the verdict on balance is %s, %q, cause %+v; want undecided: %q", v.Decision, v.Reason, v.Cause, want)
	}
}

func TestAProxyIsComparedOnlyWithAProxy(t *testing.T) {
	d := arms(t, 20, 20, 20, 20, 20)
	if v, there := on(d, "proxy_cpu"); !there || v.Decision != "worse" {
		t.Errorf("proxy_cpu has a verdict: %t, %s; want worse", there, v.Decision)
	}
	for i := range d.Arms[0].Trials {
		d.Arms[0].Trials[i].Resources.Proxy = result.Usage{}
	}
	for _, metric := range []string{"proxy_cpu", "proxy_memory"} {
		if v, there := on(d, metric); there {
			t.Errorf("%s against an arm without a proxy has the verdict %s, want none", metric, v.Decision)
		}
	}
}
