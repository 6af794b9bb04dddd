package report

import (
	"slices"
	"testing"

	"rpclab/internal/result"
)

func TestTheAnswerSummarizesTheVerdicts(t *testing.T) {
	some := func(d result.Document, verdicts ...result.Verdict) result.Document {
		d.Verdicts = verdicts
		return d
	}
	w := sampleArms()
	five, cell, more := small(5, w[0], w[1]), result.Cell{"load.burst": 1}, result.Cell{"load.burst": 2}
	capacity := verdict("capacity", "pool", nil, 1.4, 1.2, 1.6, "better", "baseline")
	for want, d := range map[string]result.Document{
		"At the median, new-channel is slower than shared (1.39 times as long); endpointslice is as fast as shared; undecided for kuberesolver.": channels(),
		"At the median, a and b are faster than shared (0.50 and 0.40–0.60 times as long); c is different by cell from shared (2.00 times as long).": some(five,
			verdict("latency_p50", "a", cell, .5, .4, .6, "better", "baseline"), verdict("latency_p50", "b", cell, .4, .3, .5, "better", "baseline"),
			verdict("latency_p50", "b", more, .6, .5, .7, "better", "baseline"), verdict("latency_p50", "c", cell, 2, 1.5, 3, "worse", "baseline"),
			verdict("latency_p50", "c", more, 1, .5, 3, "undecided", "baseline")),
		"At p99, a is slower than shared (2.00 times as long).": some(five,
			verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline"), verdict("latency_p99", "a", cell, 2, 1.5, 3, "worse", "baseline")),
		"At the median, b is faster than shared (at most 0.33 times as long); a is slower than shared (at least 3.00 times as long).": some(five,
			withBound(verdict("latency_p50", "b", cell, .33, .3, .4, "better", "baseline"), result.UpperBound),
			withBound(verdict("latency_p50", "a", cell, 3, 2.9, 3.1, "worse", "baseline"), result.LowerBound)),
		"Highest rate that holds: pool is higher than shared (1.40 times as many calls a second).": some(five, capacity),
		"No difference found between shared and any other arm.":                                    some(five, verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline")),
		"No verdict: 2 rounds, and at least 4 are needed to tell a difference from chance.":        some(small(2, w[0], w[1]), verdict("latency_p50", "a", cell, 1, .5, 2, "undecided", "baseline")),
		"No verdict: there was nothing to compare.":                                                five,
		"Nothing was measured, so there is no answer.":                                             base("channels", "Which?"),
	} {
		if got := Answer(d); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The answer does not report the losses of a rollout as complete that the load did not see to its end.
func TestTheAnswerSaysThatARolloutWasNotComplete(t *testing.T) {
	w := sampleArms()
	d := small(5, w[0], w[1])
	called := 120.0
	for _, name := range []string{"new-channel", "shared"} {
		d.Events = append(d.Events, result.Event{Arm: name, Cell: result.Cell{}, Round: 1, What: "roll", Action: result.ActionRoll, Took: result.Took{FirstCall: &called}})
	}
	if got, want := Answer(d), "No route lost a call. When rpclab replaced every backend, new-channel and shared called a new backend within 120 ms."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	d.Events[0].Unfinished = &result.Unfinished{Done: 2, Of: 3}
	want := "No route lost a call, but the load ended before the rollout was complete in new-channel. " +
		"When rpclab replaced backends, new-channel and shared called a new backend within 120 ms."
	if got := Answer(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func withBound(v result.Verdict, bound result.RatioBound) result.Verdict {
	v.Bound = bound
	return v
}

// A ratio of lost calls is a lower bound in sentences, tables and cards.
func TestARatioOfLostCallsIsABound(t *testing.T) {
	v := withBound(verdict("latency_p50", "a", result.Cell{"load.burst": 1}, 3, 2.9, 3.1, "worse", "baseline"), result.LowerBound)
	if got, want := sentenceOf(v), "a is slower than shared at the median: at least 3.00 times as long (2.90–3.10)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := ratioOfRuns(result.Ratio{Ratio: 3, Bound: result.LowerBound}); got != "≥ 3.00" {
		t.Errorf("the ratio of two runs is %s, want ≥ 3.00", got)
	}
}

func TestACardHasTheVerdictsOfOnePairInOneCell(t *testing.T) {
	all := cards(channels())
	first := all[0]
	if first.A != "new-channel" || first.B != "shared" || first.Cell != "burst = 2,000" || len(first.Lines) != 2 {
		t.Fatalf("the first card is %+v, want new-channel against shared at burst = 2,000 with 2 lines", first)
	}
	median := first.Lines[0]
	if median.Metric != "median" || median.Mark+median.Word != "−slower" || median.Ratio != "1.39" || median.Interval != "1.31–1.46" {
		t.Errorf("the first line is %+v, want the median: slower, 1.39 (1.31–1.46)", median)
	}
	for _, c := range all {
		for _, l := range c.Lines {
			if l.At < 0 || l.At > 100 || l.Low > l.At || l.High < l.At {
				t.Errorf("%s %s: the ratio is at %g and its interval from %g to %g, want the ratio within the interval and at 0 to 100", c.A, l.Metric, l.At, l.Low, l.High)
			}
		}
	}
	if n := len(all); slices.ContainsFunc(all, func(c Card) bool { return c.Kind == "" }) || n != 10 {
		t.Errorf("%d cards, want 10, each with a kind", n)
	}
}
