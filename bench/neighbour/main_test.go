package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"rpclab/internal/measure"
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
	busy.neighbour = []float64{0.48, 0.5, 0.5}
	text := markdown(quiet, busy, time.Now())
	for _, want := range []string{"in the median run it used 50 %", "every run with the neighbour warns of it is reached", "in the median trial; 0 of the runs warn", "used 31 % of the CPU time in the median trial; 2 of the runs warn",
		"| new-channel | latency_p50 | 0 | 2 | 0 | 0 | 1.500–1.700 |", "| new-channel | latency_p99 | 0 | 0 | 0 | 2 | – |"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "| rate |") {
		t.Errorf("the page has another metric than the headline metrics:\n%s", text)
	}
}

func TestPageSaysThatARunDoesNotWarn(t *testing.T) {
	quiet, busy := newTally(), newTally()
	busy.add(result.Document{MachineWarnings: []result.MachineWarning{{Kind: result.MachineBusy}}})
	busy.add(result.Document{MachineWarnings: []result.MachineWarning{{Kind: result.MachineShared}}})
	if text := markdown(quiet, busy, time.Now()); !strings.Contains(text, "every run with the neighbour warns of it is not reached") || !strings.Contains(text, "1 of the runs warn") {
		t.Errorf("want a goal that is not reached, and 1 run that warns, in\n%s", text)
	}
}

func TestNoRunsAreRefused(t *testing.T) {
	if err := bench(0, t.TempDir()+"/neighbour.md"); err == nil || !strings.Contains(err.Error(), "-runs 0: use 1 or more") {
		t.Errorf("error %v, want -runs 0: use 1 or more", err)
	}
}

// The neighbour measures CPU time, so on a busy machine it computes for longer, and never uses more than half.
func TestTheNeighbourUsesHalfOfACPU(t *testing.T) {
	cpu := func() time.Duration {
		used, err := measure.CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	before, began := cpu(), time.Now()
	stop := useHalfACPU()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for cpu()-before < 50*time.Millisecond {
		<-ticker.C
	}
	if elapsed := time.Since(began); elapsed < 80*time.Millisecond {
		t.Errorf("50 ms of CPU time took %s, want about 100 ms", elapsed)
	}
	if share := stop(); share <= 0 || share > 0.6 {
		t.Errorf("the neighbour used %.2f of a CPU, want half of one at most", share)
	}
}
