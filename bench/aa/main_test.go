package main

import (
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// Two runs with a wrong headline decision reach the goal, three miss it.
func TestPageCountsWrongDecisions(t *testing.T) {
	d := result.Document{Arms: make([]result.Arm, 2)}
	for i := range d.Arms {
		for _, p50 := range []float64{1, 1.02, 0.99} {
			d.Arms[i].Trials = append(d.Arms[i].Trials, result.Trial{Measures: result.Measures{Latency: result.Histogram{P50: p50 + float64(i)*p50*p50, P99: 2}}})
		}
	}
	d.Verdicts = []result.Verdict{{Metric: "latency_p50", Decision: "worse"}, {Metric: "latency_p99", Decision: "equivalent"},
		{Metric: "rate", Decision: "better", Secondary: true}}
	p := page{outcomes: map[string]*outcome{}}
	for range 2 {
		p.add(d)
	}
	if text := p.markdown(40); !strings.Contains(text, "decisions: 2 of 40") || !strings.Contains(text, "reached") {
		t.Errorf("after two wrong decisions the page is\n%s\nwant 2 of 40, reached", text)
	}
	p.add(d)
	if text := p.markdown(40); !strings.Contains(text, "decisions: 3 of 40") || !strings.Contains(text, "missed") ||
		!strings.Contains(text, "| **latency_p50** | 3 | 0 | 0 |") || !strings.Contains(text, "| rate | 3 | 0 | 0 |  |") {
		t.Errorf("after three wrong decisions the page is\n%s\nwant 3 of 40, missed", text)
	}
}
