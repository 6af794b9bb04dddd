package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func sides() result.Comparison {
	c := result.Comparison{Schema: result.ComparisonSchema,
		A: result.ComparedRun{ID: "20261120-184512-x7k2", Experiment: "channels", Started: began, Rounds: 5, Machine: machineSample()}}
	c.B = c.A
	c.B.ID, c.B.Started = "20261121-091500-b3qz", began.Add(14*time.Hour)
	return c
}

// sampleComparison is of a run on another machine in which one arm became slower.
func sampleComparison() result.Comparison {
	c := sides()
	c.Differences = []result.Difference{
		{Kind: "machine", What: "CPUs", A: "8", B: "4"},
		{Kind: "version", What: "rpclab", B: "0123456789ab+"},
		{Kind: "setting", What: "caller.channel", Arm: "endpointslice", Cell: result.Cell{"load.burst": 2000}, A: "shared", B: "pool of 4"},
		{Kind: "setting", What: "caller.channel", Arm: "endpointslice", Cell: result.Cell{"load.burst": 10000}, A: "shared", B: "pool of 4"},
	}
	c.Refused = []result.Refusal{
		{Arm: "pool", Cell: result.Cell{"load.burst": 2000}, Reason: "only in A"},
		{Arm: "headless", Cell: result.Cell{"load.burst": 2000}, Reason: "workload.greet.delay: 500ms in A, 100ms in B (--allow workload.greet.delay if that is what you compare)"},
	}
	for _, burst := range []int{2000, 10000} {
		cell := result.Cell{"load.burst": burst}
		of := func(metric, arm string, a, b, low, high float64, decision string) {
			r := result.Ratio{Metric: metric, Arm: arm, Cell: cell, A: a, B: b, Ratio: b / a, CI: [2]float64{low, high}, Level: 1 - 0.05/8,
				PRanks: 0.0079, Trials: [2]int{5, 5}, Decision: decision, Secondary: !strings.HasSuffix(metric, "p50") && !strings.HasSuffix(metric, "p99")}
			if decision == "undecided" {
				r.PRanks, r.Reason = 0.42, fmt.Sprintf("the difference may be zero: about %d rounds in all would decide, if the noise stays", burst/100)
				r.Cause = &result.Cause{Kind: result.CauseInterval, Have: 5, Needed: float64(burst / 100)}
			}
			c.Ratios = append(c.Ratios, r)
		}
		of("latency_p50", "shared", 507.1, 507.3, 0.99, 1.02, "equivalent")
		of("latency_p99", "shared", 529.8, 541.2, 0.95, 1.11, "undecided")
		of("latency_p50", "endpointslice", 506.1, 650, 1.22, 1.35, "worse")
		of("latency_p99", "endpointslice", 526.9, 480, 0.87, 0.95, "better")
		of("server_cpu", "shared", 48, 48.2, 0.98, 1.02, "equivalent")
		of("server_cpu", "endpointslice", 48, 60, 1.1, 1.4, "worse")
	}
	gate := func(arm string, ratio, low, high float64, outcome, reason string) {
		c.Gates = append(c.Gates, result.GateResult{Gate: "p50 ratio < 1.05", Arm: arm, Cell: result.Cell{"load.burst": 2000},
			Ratio: ratio, CI: [2]float64{low, high}, Level: 1 - 0.05/3, Outcome: outcome, Reason: reason})
	}
	gate("shared", 1, 0.99, 1.02, "held", "")
	gate("endpointslice", 1.28, 1.22, 1.35, "failed", "")
	gate("kuberesolver", 1.04, 0.99, 1.09, "not established", "the ratio may be on either side of 1.05: about 17 rounds in both runs would settle it, if the noise stays")
	return c
}

// loadsComparison is of two loads: one trial each.
func loadsComparison() result.Comparison {
	c := sides()
	c.A.Experiment, c.B.Experiment, c.A.Rounds, c.B.Rounds = "load", "load", 1, 1
	for metric, values := range map[string][2]float64{"latency_p50": {7, 9}} {
		c.Ratios = append(c.Ratios, result.Ratio{Metric: metric, Arm: "127.0.0.1:1 / 127.0.0.1:2", A: values[0], B: values[1],
			Ratio: values[1] / values[0], Level: 0.975, PRanks: 1, Trials: [2]int{1, 1}, Decision: "undecided",
			Reason: "1 round in one of the runs; at least 4 are needed in both"})
	}
	return c
}

func comparisons() map[string]result.Comparison {
	return map[string]result.Comparison{"compare": sampleComparison(), "compare-loads": loadsComparison()}
}

func TestComparisonsMatchTheirGoldenFiles(t *testing.T) {
	for name, c := range comparisons() {
		var text, markdown bytes.Buffer
		if err := Compare(&text, c, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := CompareMarkdown(&markdown, c); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, name+".txt", text.String())
		testkit.Golden(t, name+".md", markdown.String())
	}
}

func TestNoLineOfAComparisonIsWiderThanTheTerminal(t *testing.T) {
	all := comparisons()
	huge := sampleComparison()
	for i := range huge.Ratios {
		r := &huge.Ratios[i]
		r.Arm, r.A, r.B, r.Ratio = strings.Repeat("a-long-name-", 9), 123_456_789_012, 987_654_321_098_765, 1e12
	}
	for i := range huge.Gates {
		huge.Gates[i].Arm = strings.Repeat("a-long-name-", 9)
	}
	all["huge"] = huge
	for name, c := range all {
		for _, width := range []int{0, 40, 61, 80, 200} {
			var text bytes.Buffer
			if err := Compare(&text, c, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			limit := width
			if width == 0 || width > 80 {
				limit = 80
			}
			fits(t, name, text.String(), limit)
		}
	}
}

func TestAComparisonShowsEachMetricInItsUnit(t *testing.T) {
	c := sides()
	of := func(metric string, a, b float64, decision string) {
		c.Ratios = append(c.Ratios, result.Ratio{Metric: metric, Arm: "direct", A: a, B: b, Ratio: b / max(a, b/100), CI: [2]float64{0.5, 2}, Level: 0.99, Trials: [2]int{5, 5}, Decision: decision})
	}
	of("failed", 0, 0.25, "worse")
	of("followed", 40, 0, "undecided")
	of("elapsed", 17_500, 10_400, "better")
	of("rate", 681, 929, "better")
	of("client_memory", 50e6, 60e6, "worse")
	var text bytes.Buffer
	if err := Compare(&text, c, Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lost calls", "none", "25 %", "loses more calls", "followed ms", "elapsed ms", "17,500", "faster", "calls/s", "more calls/s", "client MB"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the comparison lacks %q:\n%s", want, text.String())
		}
	}
}

func TestAComparisonOfARunWithItselfSaysSo(t *testing.T) {
	for same, want := range map[bool]string{true: "A and B are the same run", false: "The runs were made at different times"} {
		c := sides()
		if same {
			c.B.ID = c.A.ID
		}
		var text strings.Builder
		if err := CompareMarkdown(&text, c); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("same run: %t: the report (error %v) lacks %q:\n%s", same, err, want, &text)
		}
	}
}
