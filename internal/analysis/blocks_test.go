package analysis

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// closedLoad is a trial of one user, each of whose calls takes so long.
func closedLoad(t *testing.T, round int, length, took time.Duration) result.Trial {
	t.Helper()
	recorder := measure.NewRecorder(0)
	recorder.CountWindow(length)
	for due := time.Duration(0); due < length; due += took {
		recorder.Record(measure.Call{Due: due, Sent: due, Done: due + took, Backend: "b0", Code: measure.OK})
	}
	seen, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	load := experiment.Load{Closed: &experiment.Closed{Users: 1, Duration: length}}
	record := Record{Config: experiment.Config{Load: load}, Merged: seen, Callers: make([]CallerRecord, 1)}
	return record.Summarize(result.Trial{Round: round})
}

// closedTrial is one of so many blocks; 1: it is one piece.
func closedTrial(t *testing.T, round, blocks int, length, took time.Duration) result.Trial {
	t.Helper()
	return inPieces(round, blocks, func(n int) result.Trial { return closedLoad(t, n, length, took) })
}

// A user has whole calls in a block: a call that is slightly too long for a fifth one leaves four in each block.
func TestRatesOfUsersInTurnsAreExactToACall(t *testing.T) {
	for name, c := range map[string]struct {
		blocks      int
		length      time.Duration // of each
		base, other float64       // ms
		want, gate  string
		noted       bool
	}{
		"2 % slower, a call fewer":    {10, 102 * ms, 20.3, 20.7, "undecided", "not established", true},
		"19 % quicker, as many calls": {10, 210 * ms, 42, 35.2, "undecided", "not established", true},
		"twice as slow":               {10, 210 * ms, 20, 40, "worse", "failed", true},
		"twice as quick":              {10, 102 * ms, 20, 10, "better", "held", true},
		"as slow, of quick calls":     {10, 102 * ms, 0.3, 0.303, "equivalent", "held", false},
		"2 % slower, not in turns":    {1, 4000 * ms, 20.3, 20.7, "equivalent", "held", false},
		"4 % slower, in one load":     {1, 990 * ms, 96, 100, "undecided", "not established", true},
		"4 % slower, of a long load":  {1, 60_100 * ms, 300, 312, "worse", "held", false},
		"twice as slow, in one load":  {1, 990 * ms, 50, 100, "worse", "failed", true},
	} {
		run := func(name string, took float64) result.Arm {
			a := result.Arm{Name: name, Config: map[string]any{"load": map[string]any{"closed": map[string]any{"users": 1, "duration": "4s"}}}}
			for round := range 4 {
				a.Trials = append(a.Trials, closedTrial(t, round+1, c.blocks, c.length, time.Duration(took*float64(ms))))
			}
			return a
		}
		base, other := run("base", c.base), run("other", c.other)
		checkRate(t, name, base, other, c.want, c.gate, c.noted)
	}
}

// Users who think or start one after another end their last calls at different times.
func TestUsersWhoStartApartHaveNoAllowance(t *testing.T) {
	trials := []result.Trial{closedTrial(t, 1, 1, 990*ms, 100*ms)}
	for setting, want := range map[string]bool{"duration": true, "think": false, "ramp": false} {
		arm := result.Arm{Trials: trials, Config: map[string]any{"load": map[string]any{"closed": map[string]any{setting: "500ms"}}}}
		if got := endOfClosedLoad(arm) > 0; got != want {
			t.Errorf("with load.closed.%s, the allowance for last calls is %t, want %t", setting, got, want)
		}
	}
}

func TestArmsInTurnsHaveNoShareOfTheirBound(t *testing.T) {
	for blocks, want := range map[int]float64{1: 0.78, 10: 0} {
		arm := result.Arm{Bound: &result.Bound{Rate: 50}, Trials: []result.Trial{closedTrial(t, 1, blocks, 102*ms, 20700*time.Microsecond)}}
		if err := mergeTrials(&arm); err != nil {
			t.Fatal(err)
		}
		if got := arm.Bound.Reached; got < want-0.01 || got > want+0.01 {
			t.Errorf("in %d blocks %.0f calls/s are %.3f of the bound, want %g", blocks, arm.Rate, got, want)
		}
	}
}

// A round that an interrupt ended has fewer blocks than others, and weighs less.
func TestATrialWeighsAsMuchAsAllOfItsBlocks(t *testing.T) {
	whole := closedTrial(t, 1, 39, 100*ms, 10*ms) // 100 calls/s
	part := closedTrial(t, 2, 1, 100*ms, 33*ms)   // 30 calls/s
	part = MergeBlocks(result.Trial{Round: 2}, []result.Trial{part})
	slow := closedTrial(t, 3, 39, 100*ms, 40*ms) // 25 calls/s, in blocks that are too short to have a window
	if whole.Window.LengthMS != 3900 || part.Window.LengthMS != 100 || slow.Window != nil {
		t.Errorf("the windows are %+v, %+v and %+v; want 3.9 s, 0.1 s and none", whole.Window, part.Window, slow.Window)
	}
	for want, trials := range map[float64][]result.Trial{
		98.25:                                    {whole, part},
		(100*3.9 + 25*39*0.12) / (3.9 + 39*0.12): {whole, slow},
	} {
		arm := result.Arm{Trials: trials}
		if err := mergeTrials(&arm); err != nil {
			t.Fatal(err)
		}
		if math.Abs(arm.Rate-want) > 0.01 || math.Abs(arm.Answered()-want) > 0.01 {
			t.Errorf("the rates %.0f and %.0f are %.2f calls/s (%.2f answered) together, want %.2f", trials[0].Rate, trials[1].Rate, arm.Rate, arm.Answered(), want)
		}
	}
}

// The rates of callers add up to that of their trial, also if blocks differ in their rates.
func TestTheRateOfACallerIsOverTheTimeOfItsBlocks(t *testing.T) {
	var blocks []result.Trial
	for i, rate := range []float64{1000, 300} {
		block := trial(t, i+1, 10, uint64(rate))
		block.Rate, block.ElapsedMS = rate, 1000
		for _, name := range []string{"caller-1", "caller-2"} {
			block.Callers = append(block.Callers, result.Caller{Name: name, Calls: block.Calls / 2, Rate: rate / 2, Errors: map[string]uint64{}})
		}
		blocks = append(blocks, block)
	}
	merged := MergeBlocks(result.Trial{}, blocks)
	for _, c := range merged.Callers {
		if c.Rate != 325 || merged.Rate != 650 {
			t.Errorf("%s makes %g of %g calls/s, want 325 of 650", c.Name, c.Rate, merged.Rate)
		}
	}
}

// A block has a reading at its start and every second, and other arms have their turns between blocks.
func TestTheMemoryOfServersInTurnsHasTheTimeBetweenBlocks(t *testing.T) {
	began := time.Now()
	var blocks []result.Trial
	for i, readings := range [][]uint64{{10}, {20, 25}, nil, {30}, {40}} {
		block := trial(t, i+1, 10, 100)
		block.Started = began.Add(time.Duration(i) * 300 * time.Millisecond)
		if readings != nil {
			block.Memory = &result.Memory{IntervalMS: 1000, Servers: readings}
		}
		blocks = append(blocks, block)
	}
	want := &result.Memory{IntervalMS: 400, Servers: []uint64{10, 25, 30, 40}} // 4 readings in 1.2 s
	if diff := cmp.Diff(want, MergeBlocks(result.Trial{Started: began}, blocks).Memory); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = &result.Memory{IntervalMS: 1000, Servers: []uint64{20, 25}} // one block has a time axis of its own
	if diff := cmp.Diff(want, MergeBlocks(result.Trial{}, blocks[1:2]).Memory); diff != "" {
		t.Errorf("of one block (-want +got):\n%s", diff)
	}
}
