package main

import (
	"strings"
	"testing"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestPageCountsDecisionsAndWarnings(t *testing.T) {
	others := 0.31
	document := result.Document{
		MachineWarnings: []result.MachineWarning{{Kind: result.MachineShared}},
		Arms:            []result.Arm{{Trials: []result.Trial{{Machine: &result.Interference{Others: &others}}}}},
		Verdicts: []result.Verdict{{Metric: "latency_p50", A: "new-channel", Decision: "worse", CI: [2]float64{1.5, 1.7}},
			{Metric: "latency_p99", A: "new-channel", Decision: "undecided"},
			{Metric: "rate", A: "new-channel", Decision: "worse", Secondary: true}},
	}
	quiet, busy := newTally(), newTally()
	quiet.add(document)
	document.MachineWarnings = append(document.MachineWarnings, result.MachineWarning{Kind: result.MachineBusy, Share: others})
	busy.add(document)
	busy.add(document)
	text := markdown(quiet, busy, time.Now())
	for _, want := range []string{"in the median trial; 0 of the runs warn", "used 31 % of the CPU time in the median trial; 2 of the runs warn",
		"| new-channel | latency_p50 | 0 | 2 | 0 | 0 | 1.500–1.700 |", "| new-channel | latency_p99 | 0 | 0 | 0 | 2 | – |"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "| rate |") {
		t.Errorf("the page has another metric than the headline metrics:\n%s", text)
	}
}

func TestTheNeighbourStops(t *testing.T) {
	useHalfACPU()()
}
