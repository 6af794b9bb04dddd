package lab_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
)

const inTurns = `
experiment: in-turns
question: Does it work?
defaults:
  workload: {greet: {delay: 2ms}}
  server: {replicas: 2}
  route: clusterip
  caller: {warmup: 10}
  load: {closed: {users: 5, duration: 200ms}} # two blocks
arms:
  shared: {}
  endpointslice: {route: endpointslice}
  again: {control: shared}
rounds: 2
design: interleaved
`

// interval is when a block ran.
type interval struct {
	arm        string
	cycle      int
	start, end time.Time
}

func intervals(d result.Document) (all []interval) {
	for _, a := range d.Arms {
		for _, trial := range a.Trials {
			for _, b := range trial.Blocks {
				start := trial.Started.Add(time.Duration(b.StartMS * float64(time.Millisecond)))
				all = append(all, interval{a.Name, b.Cycle, start, start.Add(time.Duration(b.ElapsedMS * float64(time.Millisecond)))})
			}
		}
	}
	slices.SortFunc(all, func(a, b interval) int { return a.start.Compare(b.start) })
	return all
}

func TestArmsTakeTurns(t *testing.T) {
	t.Parallel()
	o := options(t)
	loads := map[int]int{} // by round
	o.Phases = func(p lab.Phase) {
		if p.Name == lab.PhaseLoad {
			loads[p.Trial.Round]++
		}
	}
	d, err := lab.Run(t.Context(), plan(t, inTurns, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	if loads[1] != 6 || loads[2] != 6 {
		t.Errorf("the loads by round are %v, want 2 blocks of 3 arms in each of 2", loads)
	}
	for _, name := range []string{"shared", "endpointslice", "again"} {
		a := arm(t, d, name)
		if len(a.Trials) != 2 || a.Calls == 0 || len(a.Errors) != 0 || a.Latency.P50 < 2 || a.Resources.Client.CPU <= 0 || a.Resources.Server.CPU <= 0 {
			t.Errorf("%s: %d trials, %d calls, errors %v, p50 %.2f ms, resources %+v", name, len(a.Trials), a.Calls, a.Errors, a.Latency.P50, a.Resources)
		}
		for _, trial := range a.Trials {
			if len(trial.Blocks) != 2 || trial.IdleCPU == nil || *trial.IdleCPU > 0.5 {
				t.Errorf("%s, round %d: %d blocks, idle CPU %v", name, trial.Round, len(trial.Blocks), trial.IdleCPU)
			}
		}
	}
	all := intervals(d)
	inCycle := map[string]int{}
	for i, block := range all {
		inCycle[fmt.Sprint(block.cycle)]++
		if i > 0 && block.start.Before(all[i-1].end) {
			t.Errorf("block %+v starts before %+v ends", block, all[i-1])
		}
	}
	for cycle, n := range inCycle {
		if n != 3 {
			t.Errorf("cycle %s has %d blocks of 3 arms", cycle, n)
		}
	}
	if stored, _, err := o.Store.Get(t.Context(), d.ID); err != nil || len(arm(t, stored, "again").Trials) != 2 || d.Design != "interleaved" {
		t.Errorf("stored: %v; design %s", err, d.Design)
	}
}

func TestTwoArmsRunSideBySide(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(inTurns, "design: interleaved", "design: side-by-side", 1)
	d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1, Arms: []string{"shared", "endpointslice"}}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	all := intervals(d)
	for i := 0; i+1 < len(all); i += 2 {
		if all[i].cycle != all[i+1].cycle || all[i+1].start.After(all[i].end) {
			t.Errorf("blocks %+v and %+v do not run at the same time", all[i], all[i+1])
		}
	}
}

// Who adds up the seconds of a run, such as its metrics, gets those that are measured.
func TestRehearsalsAreNotShown(t *testing.T) {
	t.Parallel()
	o := options(t)
	var shown []time.Time
	var rehearsals []lab.Phase
	o.Progress = func(p lab.Progress) {
		if p.Live != nil {
			shown = append(shown, time.Now())
			if p.Doing != "" {
				t.Errorf("the step is %q during the load, want none", p.Doing)
			}
		}
	}
	o.Phases = func(p lab.Phase) {
		if p.Name == lab.PhaseRehearse {
			rehearsals = append(rehearsals, p)
		}
	}
	doc := strings.NewReplacer("delay: 2ms", "delay: 1200ms", "closed: {users: 5, duration: 200ms}", "burst: 4", "  again: {control: shared}\n", "", "rounds: 2", "rounds: 1").Replace(inTurns)
	if _, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1}), o); err != nil {
		t.Fatal(err)
	}
	for _, at := range shown {
		if slices.ContainsFunc(rehearsals, func(p lab.Phase) bool { return at.After(p.Began) && at.Before(p.Ended) }) {
			t.Errorf("the second that ended at %v is of a rehearsal", at)
		}
	}
	if len(shown) == 0 || len(rehearsals) != 2 {
		t.Errorf("%d seconds are shown and %d arms were rehearsed, want some and 2", len(shown), len(rehearsals))
	}
}

// The arm that fails in one round is started again for the next; the other arms are measured.
func TestAnArmThatFailsInTurnsIsAResult(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(inTurns, "endpointslice: {route: endpointslice}", "none: {workload: {greet: {delay: 1s}}, caller: {timeout: 1ms}}", 1)
	d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if failed, fine := arm(t, d, "none"), arm(t, d, "shared"); failed.Trials[0].Failed == "" || failed.Trials[1].Failed == "" || fine.Calls == 0 {
		t.Errorf("none failed with %q and %q; shared has %d calls", failed.Trials[0].Failed, failed.Trials[1].Failed, fine.Calls)
	}
}

// Only the arm that is started again is rehearsed again.
func TestAnArmThatIsStartedAgainIsRehearsed(t *testing.T) {
	t.Parallel()
	o := options(t)
	c := &firstCallers{Cluster: o.Cluster}
	o.Cluster = c
	rehearsed, killed := map[int][]string{}, false // by round
	o.Phases = func(p lab.Phase) {
		switch {
		case p.Name == lab.PhaseRehearse:
			rehearsed[p.Trial.Round] = append(rehearsed[p.Trial.Round], p.Trial.Arm)
		case p.Name == lab.PhaseLoad && !killed: // every arm has a block to come
			killed = true
			(*c.first.Load())[0].Kill()
		}
	}
	d, err := lab.Run(t.Context(), plan(t, inTurns, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rehearsed[1]) != 3 || len(rehearsed[2]) != 1 {
		t.Fatalf("rehearsed were %v, want all 3 arms in round 1 and one in round 2", rehearsed)
	}
	if trials := arm(t, d, rehearsed[2][0]).Trials; len(trials) != 2 || trials[0].Failed == "" || trials[1].Failed != "" {
		t.Errorf("the trials of the arm are %+v, want that the first failed", trials)
	}
}

// An interrupt keeps the cycles that were complete.
func TestAnInterruptKeepsTheCyclesOfArmsInTurns(t *testing.T) {
	t.Parallel()
	o := options(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	seconds := 0
	o.Progress = func(p lab.Progress) {
		if p.Live == nil {
			return
		}
		if seconds++; seconds == 5 { // each block has one such second, so two cycles are complete
			interrupt()
		}
	}
	doc := strings.Replace(inTurns, "load: {closed: {users: 5, duration: 200ms}} # two blocks", "load: {open: {rate: 30, duration: 40s}}", 1)
	doc = strings.Replace(doc, "rounds: 2", "rounds: 1", 1)
	d, err := lab.Run(ctx, plan(t, doc, experiment.Options{Seed: 1, Arms: []string{"shared", "endpointslice"}}), o)
	if !errors.Is(err, context.Canceled) || !d.Partial {
		t.Errorf("error %v, partial is %v", err, d.Partial)
	}
	if blocks := len(intervals(d)); blocks == 0 || blocks%2 != 0 {
		t.Errorf("%d blocks of two arms", blocks)
	}
}

// Two of the three arms fit into memory at the same time, so the run has two groups with the baseline. Each
// verdict compares blocks of one group.
func TestArmsThatDoNotFitIntoMemoryTakeTurnsInGroups(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.FreeMemory = 640e6 // an arm needs 225 MB, and a run uses 80 %
	d, err := lab.Run(t.Context(), plan(t, inTurns, experiment.Options{Seed: 1}), o)
	if err != nil {
		t.Fatal(err)
	}
	if g := d.Groups; g == nil || g.LimitedBy != "memory" || !slices.EqualFunc(g.Arms, [][]string{{"shared", "endpointslice"}, {"shared", "again"}}, slices.Equal) {
		t.Fatalf("the groups are %+v", d.Groups)
	}
	if d.TrialCount != 8 || d.Partial || d.Rounds != 2 {
		t.Errorf("%d trials in %d rounds, partial %t; want 8 in 2", d.TrialCount, d.Rounds, d.Partial)
	}
	for name, groups := range map[string][]int{"shared": {1, 1, 2, 2}, "endpointslice": {1, 1}, "again": {2, 2}} {
		var got []int
		for _, trial := range arm(t, d, name).Trials {
			got = append(got, trial.Group)
		}
		if !slices.Equal(got, groups) {
			t.Errorf("%s was in groups %v, want %v", name, got, groups)
		}
	}
	cycles := map[int][]string{}
	for _, block := range intervals(d) {
		cycles[block.cycle] = append(cycles[block.cycle], block.arm)
	}
	if len(cycles) != 8 {
		t.Errorf("%d cycles, want 2 in each of 2 rounds of 2 groups", len(cycles))
	}
	for cycle, arms := range cycles {
		if slices.Sort(arms); len(arms) != 2 || arms[1] != "shared" {
			t.Errorf("cycle %d has blocks of %v, want one of shared and one other", cycle, arms)
		}
	}
	for _, v := range d.Verdicts {
		if v.Metric == "latency_p50" && v.Rounds*v.Cycles != 4 { // with few calls on a busy machine a group has 2 cycles
			t.Errorf("%s against %s has %d groups of %d cycles, want the 4 cycles of its group", v.A, v.B, v.Rounds, v.Cycles)
		}
	}
	o.FreeMemory = 300e6
	if _, err := lab.Run(t.Context(), plan(t, inTurns, experiment.Options{Seed: 1}), o); !errors.Is(err, lab.ErrTooLittleMemory) {
		t.Errorf("with memory for one arm: %v", err)
	}
}

// The arms of a cell have as many blocks, also if their loads differ: then a burst is one block, and no arm has more calls
// than its load.
func TestArmsWithDifferentLoadsHaveTheirOwnCalls(t *testing.T) {
	t.Parallel()
	doc := strings.NewReplacer("shared: {}", "shared: {load: {burst: 20}}", "  again: {control: shared}\n", "", "rounds: 2", "rounds: 1").Replace(inTurns)
	d, err := lab.Run(t.Context(), plan(t, doc, experiment.Options{Seed: 1}), options(t))
	if err != nil {
		t.Fatal(err)
	}
	burst, users := arm(t, d, "shared"), arm(t, d, "endpointslice")
	if burst.Calls != 20 || len(users.Trials[0].Blocks) != 1 || users.Calls == 0 {
		t.Errorf("the burst of 20 calls has %d; the users made %d calls in %d blocks, want one", burst.Calls, users.Calls, len(users.Trials[0].Blocks))
	}
}
