package report

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/result"
)

func TestEqualReasonsAreMerged(t *testing.T) {
	of := func(kind result.CauseKind, arm, reason string, share float64) result.Verdict {
		return result.Verdict{Reason: reason, Cause: &result.Cause{Kind: kind, Arm: arm, Share: share}}
	}
	interval := func(needed, difference float64) result.Verdict {
		return result.Verdict{Metric: "latency_p50", A: fmt.Sprintf("a%g", needed), Reason: "the interval …", Cause: &result.Cause{Kind: result.CauseInterval, Needed: needed, Difference: difference, Margin: 0.03}}
	}
	groups := interval(30, 0)
	groups.Cause.Groups = true
	rate := interval(12, 0)
	rate.Metric = "rate"
	inRun := of(result.CauseCalls, "new", "in B, a trial of new has 300 calls", 0)
	inRun.Cause.Run = "B"
	got := reasons("undecided", []result.Verdict{
		of(result.CauseCalls, "pool", "a trial of pool has 300 calls; p99 needs 1000", 0),
		of(result.CauseCalls, "new", "a trial of new has 300 calls; p99 needs 1000", 0),
		of(result.CauseLostCalls, "pool", "2.5 % of the calls of pool failed", 0.025),
		of(result.CauseLostCalls, "new", "3.5 % of the calls of new failed", 0.035),
		of(result.CauseGenerator, "new", "the load generator was the bottleneck in new: 20 ms", 0),
		of(result.CauseGenerator, "pool", "the load generator was the bottleneck in pool: 30 ms", 0),
		interval(12, 0), interval(40, 0), interval(0, 0), interval(7, 0.02), interval(9, 0.025), groups, inRun, rate,
	})
	want := []string{"undecided: a trial of pool has 300 calls; p99 needs 1000. The same holds for new",
		"undecided: 2.5 % of the calls of pool failed", "undecided: 3.5 % of the calls of new failed",
		"undecided: the load generator was the bottleneck in new: 20 ms", "undecided: the load generator was the bottleneck in pool: 30 ms",
		"Not decided yet at p50 for a12 and a40: the interval contains 0 %. At this noise, 12–40 rounds in total would decide.",
		"Not decided yet at p50 for a0: the interval contains 0 %. Over 1,000 rounds would be needed.",
		"Not decided yet at p50 for a7 and a9: the difference is 2–2.5 %, and the margin 3 %. At this noise, 7–9 rounds in total would decide.",
		"Not decided yet at p50 for a30: the interval contains 0 %. At this noise, 30 groups of cycles in total would decide.",
		"undecided: in B, a trial of new has 300 calls",
		"Not decided yet in rate for a12: the interval contains 0 %. At this noise, 12 rounds in total would decide."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// A document of an older version has sentences without causes.
func TestAReasonWithoutACauseIsPrintedUnchanged(t *testing.T) {
	old := func(reason string) result.Verdict { return result.Verdict{Reason: reason} }
	got := reasons("undecided", []result.Verdict{old("the difference may be zero (about 12)"), old("the difference may be zero (about 40)"), old("the difference may be zero (about 12)"), old("")})
	want := []string{"undecided: the difference may be zero (about 12)", "undecided: the difference may be zero (about 40)", "undecided: the interval leaves both answers open"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestColumnsAreInTheOrderOfTheMetrics(t *testing.T) {
	p := &page{}
	undecided(p, result.Document{}, []result.Verdict{{Metric: "latency_p99", A: "a", B: "b"}, {Metric: "latency_p50", A: "c", B: "b"}})
	if names := p.blocks[0].table.columns; names[2].name != "ratio at the median" || names[3].name != "ratio at p99" {
		t.Errorf("the columns are %v, want the ratio at the median before that at p99", names)
	}
}

// A share of failed calls may be 0, so its ratio says little.
func TestFailedCallsHaveNoRatioInTheTable(t *testing.T) {
	p := &page{}
	undecided(p, result.Document{Headline: []string{"failed", "followed"}}, []result.Verdict{{Metric: "failed", A: "a", B: "b", Ratio: 9}, {Metric: "followed", A: "a", B: "b", Ratio: 2}})
	table := p.blocks[0].table
	if row := table.rows[0]; table.columns[2].name != "ratio in failed calls" || row[2] != "" || row[3] != "2.00" {
		t.Errorf("columns %v, row %q; want no ratio of failed calls, and 2.00 in time to new backends", table.columns, row)
	}
}

// More rounds may decide what is undecided, and not what a guard forbids.
func TestAGuardLeavesNoVerdict(t *testing.T) {
	open := []result.Verdict{{Metric: "latency_p99", A: "a", B: "b", Kind: result.OfBaseline, Decision: "undecided", Reason: "the clock is too coarse", Unfit: true},
		{Metric: "latency_p50", A: "c", B: "b", Kind: result.OfBaseline, Decision: "undecided", Reason: "the difference may be zero"}}
	for name, write := range map[string]func(*page){
		"below the table":     func(p *page) { undecided(p, result.Document{}, open) },
		"what it takes to go": func(p *page) { toDecide(p, result.Document{Verdicts: open}) },
	} {
		p := &page{}
		write(p)
		var items []string
		for _, b := range p.blocks {
			if b.kind == item {
				items = append(items, b.text)
			}
		}
		if diff := cmp.Diff([]string{"undecided: the difference may be zero", "no verdict: the clock is too coarse"}, items); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheShortReportSaysWhyItHasNoVerdict(t *testing.T) {
	unfit := result.Verdict{Metric: "latency_p99", A: "a", B: "b", Kind: result.OfBaseline, Decision: "undecided", Rounds: 4, Unfit: true,
		Reason: "a trial of a has 186 calls", Cause: &result.Cause{Kind: result.CauseCalls, Arm: "a"}}
	d := result.Document{Baseline: "b", Headline: []string{"balance", "latency_p99"}, Verdicts: []result.Verdict{
		{Metric: "balance", A: "a", B: "b", Kind: result.OfBaseline, Decision: "better", Rounds: 4, Ratio: 3, CI: [2]float64{2.9, 3.1}}, unfit}}
	if got, want := unfitInWords(d), "No verdict at p99: a trial of a has 186 calls."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	unfit.Cause.Kind = result.CauseGenerator // which a line of its own says
	if got := unfitInWords(d); got != "" {
		t.Errorf("got %q of a late generator", got)
	}
}
