package analysis

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

func TestRunsOfTheSameArmsAreMerged(t *testing.T) {
	one := func(latency float64) result.Document {
		d := runOf(t, latency)
		d.Rounds, d.TrialCount = 1, 1
		return d
	}
	var before, after []result.Document
	for _, off := range []float64{0, 0.1, -0.1, 0.05} {
		before, after = append(before, one(10+off)), append(after, one(12+off))
	}
	a, err := MergeRuns(before)
	if err != nil {
		t.Fatal(err)
	}
	b, err := MergeRuns(after)
	if err != nil {
		t.Fatal(err)
	}
	if a.Rounds != 4 || len(a.Arms[0].Trials) != 4 || a.Arms[0].Trials[3].Round != 4 || a.Arms[0].Calls != 8000 || a.ID != "one and 3 more" {
		t.Errorf("%d rounds of %+v, want 4 rounds with the calls of all runs", a.Rounds, a.Arms[0].Trials)
	}
	if len(before[0].Arms[0].Trials) != 1 {
		t.Error("MergeRuns changed its argument")
	}
	if g := Compare(a, b, CompareOptions{Gates: gates(t, "p50 ratio < 1.05")}).Gates[0]; g.Outcome != "failed" {
		t.Errorf("the gate of four against four trials is %+v, want failed", g)
	}
}

// Rounds of one run share what changes from run to run, so each run is one value.
func TestAMergedRunIsOneValue(t *testing.T) {
	merged := func(levels ...float64) result.Document {
		var runs []result.Document
		for _, level := range levels {
			d := runOf(t, level, level*1.002, level*0.998, level*1.001, level*0.999)
			d.Rounds = 5
			runs = append(runs, d)
		}
		d, err := MergeRuns(runs)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	c := Compare(merged(10, 11, 10.2, 10.8), merged(10.9, 11.1, 11.8, 10.4), CompareOptions{Gates: gates(t, "p50 ratio < 1.02")})
	i := slices.IndexFunc(c.Ratios, func(r result.Ratio) bool { return r.Metric == "latency_p50" })
	if r := c.Ratios[i]; r.Trials != [2]int{4, 4} || r.CI[0] > 0.97 || r.CI[1] < 1.13 || c.Gates[0].Outcome != string(verdict.Open) {
		t.Errorf("the ratio of four runs each, which vary by 8 %%, is %+v, and the gate %+v", r, c.Gates[0])
	}
	two := Compare(merged(10, 11), merged(10, 11), CompareOptions{Gates: gates(t, "p50 ratio < 1.02")})
	if want := "2 runs on one side; at least 4 are needed on both"; two.Gates[0].Reason != want || two.Ratios[0].Reason != want {
		t.Errorf("the gate of two runs each is open because of %q, want %q", two.Gates[0].Reason, want)
	}
}

func TestRunsOfOtherArmsAreNotMerged(t *testing.T) {
	for want, change := range map[string]func(*result.Document){
		"one is of mine, the other of yours":                  func(d *result.Document) { d.Experiment = "yours" },
		"only one has shared":                                 func(d *result.Document) { d.Arms[0].Name = "pool" },
		"CPUs is 8 in one, 4 in the other":                    func(d *result.Document) { d.Machine.CPUs = 4 },
		"route is clusterip in one, headless in the other":    func(d *result.Document) { d.Arms[0].Config["route"] = "headless" },
		"only one has extra":                                  func(d *result.Document) { d.Arms = append(d.Arms, result.Arm{Name: "extra"}) },
		"load.burst is 2000 in one, not set in the other":     func(d *result.Document) { delete(d.Arms[0].Config, "load") },
		"design is isolated in one, interleaved in the other": func(d *result.Document) { d.Design = "interleaved" },
		"quick is false in one, true in the other":            func(d *result.Document) { d.Quick = true },
	} {
		other := runOf(t, 10)
		change(&other)
		if _, err := MergeRuns([]result.Document{runOf(t, 10), other}); err == nil || !strings.HasSuffix(err.Error(), "one and one cannot be merged: "+want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// Groups of cycles would leave out a trial without blocks.
func TestBlocksOfAnArmAreThoseOfAllItsTrials(t *testing.T) {
	inTurns, alone := inBlocks(t, 1, 1, 300, 10, 10), trial(t, 2, 10, 300)
	if blocks := blocksOf(result.Arm{Trials: []result.Trial{inTurns, alone}}); blocks != nil {
		t.Errorf("an arm with a trial of one piece has the blocks %v, want none, since they lack that trial", blocks)
	}
}

// Every run numbers its cycles from 1.
func TestMergedRunsKeepTheCyclesOfEachRun(t *testing.T) {
	var runs []result.Document
	for range 4 {
		d := runOf(t, 10)
		d.Rounds, d.Arms[0].Trials = 1, []result.Trial{inBlocks(t, 1, 1, 300, 10, 10, 10, 10, 10, 10)}
		runs = append(runs, d)
	}
	merged, err := MergeRuns(runs)
	if err != nil {
		t.Fatal(err)
	}
	if blocks := blocksOf(merged.Arms[0]); len(blocks) != 24 {
		t.Errorf("the merged arm has %d cycles, want 24", len(blocks))
	}
	if blocks := runs[1].Arms[0].Trials[0].Blocks; blocks[0].Cycle != 1 {
		t.Errorf("MergeRuns changed its argument: the first cycle is %d", blocks[0].Cycle)
	}
}
