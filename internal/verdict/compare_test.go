package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// against returns pairs with these ratios.
func against(ratios ...float64) []Pair {
	pairs := make([]Pair, len(ratios))
	for i, r := range ratios {
		pairs[i] = Pair{A: 100 * r, B: 100}
	}
	return pairs
}

func TestCompareDecides(t *testing.T) {
	lower := Options{LowerIsBetter: true}
	for name, c := range map[string]struct {
		pairs  []Pair
		o      Options
		want   Decision
		reason string
	}{
		"faster":                             {against(0.80, 0.82, 0.79, 0.81), lower, Better, ""},
		"slower":                             {against(1.25, 1.22, 1.27, 1.24), lower, Worse, ""},
		"a higher rate":                      {against(1.25, 1.22, 1.27, 1.24), Options{}, Better, ""},
		"a lower rate":                       {against(0.80, 0.82, 0.79, 0.81), Options{}, Worse, ""},
		"identical values":                   {against(1, 1, 1, 1), lower, Equivalent, ""},
		"within the margin":                  {against(1.001, 0.999, 1.002, 0.998), lower, Equivalent, ""},
		"real, but within the margin":        {against(1.010, 1.011, 1.009, 1.010), lower, Equivalent, ""},
		"the same, wider margin":             {against(1.05, 1.06, 1.05, 1.06), Options{Margin: 0.1}, Equivalent, ""},
		"no rounds":                          {nil, lower, Undecided, "no rounds; at least 4 are needed"},
		"one round":                          {against(0.5), lower, Undecided, "1 round; at least 4 are needed"},
		"two rounds":                         {against(0.5, 0.5), lower, Undecided, "2 rounds; at least 4 are needed"},
		"three identical rounds":             {against(1, 1, 1), lower, Undecided, "3 rounds; at least 4 are needed"},
		"noise":                              {against(0.9, 1.1, 1.2, 0.95), lower, Undecided, "the difference may be zero: about 76 rounds in all would decide, if the noise stays"},
		"noise about the margin":             {against(1.0295*0.9, 1.0295/0.9, 1.0295*0.9, 1.0295/0.9), lower, Undecided, "the difference may be zero, and over 1000 rounds would be needed to decide"},
		"real, about the margin":             {against(1.02, 1.03, 1.022, 1.028), lower, Undecided, "a difference of 2.5 % may be under the margin of 3 %: about 7 rounds in all would decide, if the noise stays"},
		"enough for one verdict, not for 48": {against(0.80, 0.90, 0.85, 0.75), Options{LowerIsBetter: true, Family: 48}, Undecided, "the difference may be zero: about 7 rounds in all would decide, if the noise stays"},
		"enough for one verdict":             {against(0.80, 0.90, 0.85, 0.75), lower, Better, ""},
		"zero": {append(against(1, 1, 1, 1), Pair{0, 1}), lower, Undecided,
			"pair 5 of 5 cannot be used: a is 0, and a ratio needs positive, finite values"},
		"a missing trial": {append(against(1, 1, 1, 1), Pair{1, math.NaN()}), lower, Undecided,
			"pair 5 of 5 cannot be used: b is NaN, and a ratio needs positive, finite values"},
		"negative": {against(1, 1, -1, 1), lower, Undecided,
			"pair 3 of 4 cannot be used: a is -100, and a ratio needs positive, finite values"},
		"infinite": {against(math.Inf(1), 1, 1, 1), lower, Undecided,
			"pair 1 of 4 cannot be used: a is +Inf, and a ratio needs positive, finite values"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Compare(c.pairs, c.o)
			if diff := cmp.Diff([]any{c.want, c.reason, len(c.pairs)}, []any{v.Decision, v.Reason, v.Rounds}); diff != "" {
				t.Errorf("ratio %v, interval %v (-want +got):\n%s", v.Ratio, v.CI, diff)
			}
		})
	}
}

func TestACauseHasTheNumbersOfItsReason(t *testing.T) {
	near := cmpopts.EquateApprox(0, 0.001)
	for name, c := range map[string]struct {
		pairs []Pair
		want  Cause
	}{
		"one round":              {against(0.5), Cause{Kind: CauseRounds, Have: 1, Needed: 4}},
		"noise":                  {against(0.9, 1.1, 1.2, 0.95), Cause{Kind: CauseInterval, Have: 4, Needed: 76}},
		"noise about the margin": {against(1.0295*0.9, 1.0295/0.9, 1.0295*0.9, 1.0295/0.9), Cause{Kind: CauseInterval, Have: 4}},
		"real, about the margin": {against(1.02, 1.03, 1.022, 1.028), Cause{Kind: CauseInterval, Have: 4, Needed: 7, Difference: 0.025, Margin: 0.03}},
		"zero":                   {append(against(1, 1, 1, 1), Pair{0, 1}), Cause{Kind: CauseValue}},
	} {
		if diff := cmp.Diff(c.want, Compare(c.pairs, Options{LowerIsBetter: true}).Cause, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCompareReturnsRatioAndInterval(t *testing.T) {
	near := cmpopts.EquateApprox(1e-6, 0)
	for name, c := range map[string]struct {
		pairs []Pair
		o     Options
		want  Verdict
	}{
		"no rounds":        {nil, Options{}, Verdict{Level: 0.95}},
		"one round":        {against(0.5), Options{}, Verdict{Ratio: 0.5, Level: 0.95}},
		"identical values": {against(1, 1, 1, 1, 1), Options{}, Verdict{Ratio: 1, CI: [2]float64{1, 1}, Level: 0.95}},
		"one constant":     {against(1.3, 1.3, 1.3, 1.3), Options{}, Verdict{Ratio: 1.3, CI: [2]float64{1.3, 1.3}, Level: 0.95}},
		// Logs ±0.1: mean 0, deviation 0.1·√2, t(0.975, 1) = 12.7062047.
		"two rounds": {against(math.Exp(0.1), math.Exp(-0.1)), Options{},
			Verdict{Ratio: 1, CI: [2]float64{math.Exp(-1.27062047), math.Exp(1.27062047)}, Level: 0.95}},
		// Logs ±0.1 twice: deviation 0.2/√3, t(0.975, 3) = 3.18244631.
		"four rounds": {against(math.Exp(0.1), math.Exp(-0.1), math.Exp(0.1), math.Exp(-0.1)), Options{},
			Verdict{Ratio: 1, CI: [2]float64{math.Exp(-0.318244631 / math.Sqrt(3)), math.Exp(0.318244631 / math.Sqrt(3))}, Level: 0.95}},
		// Logs 0, 0, 0, 0, 1: t reaches 0.2 ± 0.555289. Above, 5 of 5 ones come up in 1 resample of
		// 3,125 and 4 or more in 21; the expanded tail of 0.00095 is reached there, at 0.8.
		"an outlier": {against(1, 1, 1, 1, math.E), Options{},
			Verdict{Ratio: math.Exp(0.2), CI: [2]float64{math.Exp(-0.355289), math.Exp(0.8)}, Level: 0.95}},
		"a level and a family": {nil, Options{Level: 0.9, Family: 4}, Verdict{Level: 0.975}},
	} {
		t.Run(name, func(t *testing.T) {
			v := Compare(c.pairs, c.o)
			if diff := cmp.Diff(c.want, Verdict{Ratio: v.Ratio, CI: v.CI, Level: v.Level}, near); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareIsConsistentForAnyValues(t *testing.T) {
	value := rapid.Float64Range(1e-300, 1e300)
	pair := rapid.Custom(func(t *rapid.T) Pair { return Pair{value.Draw(t, "a"), value.Draw(t, "b")} })
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(pair, 2, 12).Draw(t, "pairs")
		o := Options{Family: rapid.IntRange(0, 100).Draw(t, "family"), LowerIsBetter: rapid.Bool().Draw(t, "lower")}
		v := Compare(pairs, o)
		if !(0 < v.CI[0] && v.CI[0] <= v.Ratio && v.Ratio <= v.CI[1] && v.CI[1] <= math.MaxFloat64) {
			t.Fatalf("ratio %v is not within a finite, positive interval %v", v.Ratio, v.CI)
		}
		if v != Compare(pairs, o) {
			t.Fatal("the same values have two different verdicts")
		}
		if undecided := v.Decision == Undecided; undecided != (v.Reason != "") || undecided != (v.Cause.Kind != "") {
			t.Fatalf("the decision %s has the reason %q and the cause %+v, want both if undecided and else none", v.Decision, v.Reason, v.Cause)
		}
		for i, p := range pairs {
			pairs[i] = Pair{p.B, p.A}
		}
		mirror := map[Decision]Decision{Better: Worse, Worse: Better, Equivalent: Equivalent, Undecided: Undecided}
		if back := Compare(pairs, o); len(pairs) <= exactRounds && back.Decision != mirror[v.Decision] {
			t.Fatalf("a against b is %s and b against a is %s, want %s", v.Decision, back.Decision, mirror[v.Decision])
		}
	})
}

// Values that may be too large make the interval wider on one side: the true ratio is lower if they are those of A.
func TestTheIntervalAllowsForRaisedValues(t *testing.T) {
	a, b := []float64{10.1, 10, 9.9, 10}, []float64{10, 10.1, 10, 9.9}
	for _, o := range []Options{{}, {Consecutive: true}} {
		raised := o
		raised.Raised = [2]float64{0.02, 0.01}
		before, after := Compare(pairsOf(a, b), o), Compare(pairsOf(a, b), raised)
		if low, high := math.Log(before.CI[0]/after.CI[0]), math.Log(after.CI[1]/before.CI[1]); math.Abs(low-0.02) > 1e-9 || math.Abs(high-0.01) > 1e-9 {
			t.Errorf("%+v: the interval is wider by %g below and %g above, want 0.02 and 0.01", o, low, high)
		}
		before, after = CompareRuns(a, b, o), CompareRuns(a, b, raised)
		if low, high := math.Log(before.CI[0]/after.CI[0]), math.Log(after.CI[1]/before.CI[1]); math.Abs(low-0.01) > 1e-9 || math.Abs(high-0.02) > 1e-9 {
			t.Errorf("%+v: the interval of two runs, b over a, is wider by %g below and %g above, want 0.01 and 0.02", o, low, high)
		}
	}
	o := Options{Raised: [2]float64{0.05, 0}}
	if v := Compare(pairsOf(a, b), o); v.Decision != Undecided || v.Cause.Needed != 0 || !strings.Contains(v.Reason, "over 1000 rounds") {
		t.Errorf("values that may be too large by more than the margin: %s, %q, want it undecided at any number of rounds", v.Decision, v.Reason)
	}
}
