package main

import (
	"maps"
	"os"
	"slices"
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
	for _, want := range []string{"**No: beside a program that used half of a CPU, 0 of 2 verdicts contradicted the quiet runs or called the control different. 2 of 2 runs warned of the program, and intervals were 1.00 times as wide.** ",
		"in the median run it used 50 %", "| every run with the neighbour warns of it | 2 of 2 runs | reached |", "in the median trial; 0 of the runs warn", "used 31 % of the CPU time in the median trial; 2 of the runs warn",
		"| new-channel | latency_p50 | 0 | 2 | 0 | 0 | 1.500–1.700 |", "| new-channel | latency_p99 | 0 | 0 | 0 | 2 | – |"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "| rate |") {
		t.Errorf("the page has another metric than the headline metrics:\n%s", text)
	}
}

// verdictsOf is a run with a verdict on each arm, whose interval has a half-width as a share.
func verdictsOf(decisions map[string]string, half float64) (d result.Document) {
	for _, arm := range slices.Sorted(maps.Keys(decisions)) {
		v := result.Verdict{Metric: "latency_p50", A: arm, Decision: decisions[arm], CI: [2]float64{1 / (1 + half), 1 + half}}
		if arm == "shared-again" {
			v.Kind = result.OfControl
		}
		if arm == "new-channel" {
			v.CI = [2]float64{1.5 / (1 + half), 1.5 * (1 + half)}
		}
		d.Verdicts = append(d.Verdicts, v)
		v.Metric, v.Decision = "latency_p99", "undecided"
		d.Verdicts = append(d.Verdicts, v)
	}
	return d
}

func TestPageSaysWhichGoalsAreReached(t *testing.T) {
	right := map[string]string{"new-channel": "worse", "pool": "equivalent", "headless": "undecided", "shared-again": "undecided"}
	with := func(arm, decision string) map[string]string {
		all := maps.Clone(right)
		all[arm] = decision
		return all
	}
	warned := func(d result.Document) result.Document {
		d.MachineWarnings = []result.MachineWarning{{Kind: result.MachineBusy}}
		return d
	}
	long := verdictsOf(right, 0.04)
	long.Finished = new(long.Started.Add(26 * time.Second))
	none := verdictsOf(right, 0.04)
	none.Verdicts[0].CI = [2]float64{} // of headless at p50
	for name, c := range map[string]struct {
		quiet, busy result.Document
		want        string // a row of a goal that is missed; empty: all are reached
	}{
		"as promised":                  {verdictsOf(right, 0.04), warned(verdictsOf(right, 0.06)), ""},
		"a verdict only when quiet":    {verdictsOf(right, 0.04), warned(verdictsOf(with("pool", "undecided"), 0.06)), ""},
		"a verdict only when busy":     {verdictsOf(right, 0.04), warned(verdictsOf(with("headless", "worse"), 0.06)), ""},
		"no warning":                   {verdictsOf(right, 0.04), verdictsOf(right, 0.06), "| every run with the neighbour warns of it | 0 of 1 runs | **missed** |"},
		"a contradiction":              {verdictsOf(right, 0.04), warned(verdictsOf(with("pool", "worse"), 0.06)), "| 1 of 2 verdicts do | **missed** |"},
		"a control that differs":       {verdictsOf(right, 0.04), warned(verdictsOf(with("shared-again", "better"), 0.06)), "| 1 of 3 verdicts do | **missed** |"},
		"narrower intervals":           {verdictsOf(right, 0.04), warned(verdictsOf(right, 0.03)), "| 0 of 8 comparisons; 0.75 × as wide in the median | **missed** |"},
		"a long run":                   {long, warned(verdictsOf(right, 0.06)), "| 26 s (slowest) | **missed** |"},
		"a difference not found":       {verdictsOf(with("new-channel", "undecided"), 0.04), warned(verdictsOf(right, 0.06)), "| every quiet run calls new-channel slower at p50 | 0 of 1 runs | **missed** |"},
		"wide intervals of p50":        {verdictsOf(right, 0.1), warned(verdictsOf(right, 0.12)), "| quiet runs show the p50 of every other route within ±5 % | 0 of 3 verdicts; ±10.0 % (widest interval) | **missed** |"},
		"a verdict without interval":   {none, warned(verdictsOf(right, 0.06)), "| quiet runs show the p50 of every other route within ±5 % | 2 of 3 verdicts; ±4.0 % (widest interval) | **missed** |"},
		"a quiet control that differs": {verdictsOf(with("shared-again", "worse"), 0.04), warned(verdictsOf(right, 0.06)), "or calls the control different | 1 of 3 verdicts do | **missed** |"},
		"an unknown is not a mistake":  {verdictsOf(with("pool", "undecided"), 0.04), warned(verdictsOf(right, 0.06)), ""},
	} {
		quiet, busy := newTally(), newTally()
		quiet.add(c.quiet)
		busy.add(c.busy)
		text := markdown(quiet, busy, time.Now())
		if n := strings.Count(text, "**missed**"); !strings.Contains(text, c.want) || n != min(len(c.want), 1) {
			t.Errorf("%s: %d goals are missed, want %q in\n%s", name, n, c.want, text)
		}
	}
	quiet, busy := newTally(), newTally()
	quiet.add(verdictsOf(right, 0.04))
	busy.add(verdictsOf(with("headless", "worse"), 0.06))
	if text := markdown(quiet, busy, time.Now()); !strings.Contains(text, "1 verdicts with the neighbour are not checked, because no quiet run decided the comparison, or as many decided one way as the other") {
		t.Errorf("the page does not say what it does not check:\n%s", text)
	}
	quiet.add(verdictsOf(with("pool", "better"), 0.04))
	busy = newTally()
	busy.add(verdictsOf(with("pool", "better"), 0.06))
	if wrong, _, unknown := contradictions(quiet, busy); wrong != 0 || unknown != 1 {
		t.Errorf("one quiet run says equivalent and one better: %d verdicts are wrong and %d unknown, want 0 and 1", wrong, unknown)
	}
	if wrong, verdicts, _ := contradictions(quiet, quiet); wrong != 1 || verdicts != 4 {
		t.Errorf("one quiet run says equivalent and one better: %d of %d verdicts of quiet runs are wrong, want 1 of 4", wrong, verdicts)
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
