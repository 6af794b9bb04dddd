package report

import (
	"slices"
	"testing"

	"rpclab/internal/result"
)

// TestOneReasonIsSaidOnceOfAllItsArms: what differs in the arm alone is one item; what
// was measured of each stays with it.
func TestOneReasonIsSaidOnceOfAllItsArms(t *testing.T) {
	few := func(a string) string { return "a trial of " + a + " has 300 calls; p99 needs 1000" }
	got := reasons([]result.Verdict{
		{A: "pool", B: "shared", Reason: few("pool")}, {A: "new", B: "pool", Reason: few("new")}, {A: "new", B: "shared", Reason: few("new")},
		{A: "pool", B: "shared", Reason: "2.5 % of the calls of pool failed"}, {A: "new", B: "shared", Reason: "3.5 % of the calls of new failed"},
		{A: "new", B: "shared", Reason: "the load generator was the bottleneck of new"},
	})
	want := []string{"a trial of pool and new has 300 calls; p99 needs 1000", "2.5 % of the calls of pool failed",
		"3.5 % of the calls of new failed", "the load generator was the bottleneck of new"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestMetricsStandInTheirOrder, whichever is undecided first.
func TestMetricsStandInTheirOrder(t *testing.T) {
	p := &page{}
	undecided(p, []result.Verdict{{Metric: "latency_p99", A: "a", B: "b"}, {Metric: "latency_p50", A: "c", B: "b"}})
	if names := p.blocks[0].table.columns; names[2].name != "ratio at the median" || names[3].name != "ratio at p99" {
		t.Errorf("%v", names)
	}
}
