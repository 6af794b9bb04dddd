package analysis

import (
	"slices"
	"strings"
	"testing"

	"rpclab/internal/result"
)

// inBlocks makes a trial of blocks with these latencies and so many calls each.
func inBlocks(t *testing.T, round, firstCycle int, calls uint64, latencies ...float64) result.Trial {
	t.Helper()
	var blocks []result.Trial
	for i, latency := range latencies {
		b := trial(t, firstCycle+i, latency, calls)
		blocks = append(blocks, b)
	}
	return MergeBlocks(result.Trial{Round: round}, blocks)
}

func TestATrialMergesItsBlocks(t *testing.T) {
	m := inBlocks(t, 1, 1, 100, 10, 20, 30)
	if m.Calls != 300 || m.ElapsedMS != 60 || len(m.Blocks) != 3 || m.Blocks[2].Cycle != 3 || m.Blocks[1].Latency.P50 < 19 || m.Latency.Max < 29 {
		t.Errorf("%+v", m)
	}
}

// rpclab does not know what a server used that it did not start.
func TestABlockKnowsTheCPUTimeOfServersThatRpclabStarted(t *testing.T) {
	blocks := []result.Trial{trial(t, 1, 10, 100), trial(t, 2, 10, 100)}
	blocks[0].Resources.Server = result.Usage{}
	blocks[1].Resources.Server = result.Usage{CPU: 7, RSS: 1}
	m := MergeBlocks(result.Trial{Round: 1}, blocks)
	if unknown, known := m.Blocks[0].ServerCPU, m.Blocks[1].ServerCPU; unknown != nil || known == nil || *known != 7 {
		t.Errorf("the servers of the blocks used %v and %v µs per call, want nil and 7", unknown, known)
	}
}

// A percentile is compared in groups of cycles that each have enough calls for it.
func TestPairsOfArmsThatTakeTurnsAreGroupsOfCycles(t *testing.T) {
	for _, c := range []struct {
		metric         string
		calls          uint64
		cycles, groups int
	}{
		{"latency_p50", 300, 1, 8}, {"latency_p50", 10, 2, 4}, {"latency_p99", 300, 4, 2}, {"latency_p99", 1000, 1, 8}, {"latency_p99", 400, 3, 2},
		{"client_cpu", 10, 1, 8}, {"balance", 300, 0, 2}, {"client_memory", 300, 0, 2}, {"latency_p99", 10, 8, 1},
	} {
		a := result.Arm{Name: "a", Trials: []result.Trial{inBlocks(t, 1, 1, c.calls, 10, 11, 12, 13), inBlocks(t, 2, 5, c.calls, 14, 15, 16, 17)}}
		b := result.Arm{Name: "b", Trials: []result.Trial{inBlocks(t, 1, 1, c.calls, 10, 10, 10, 10), inBlocks(t, 2, 5, c.calls, 10, 10, 10, 10)}}
		var m metric
		for _, one := range metrics {
			if one.name == c.metric {
				m = one
			}
		}
		pair, others, cycles := inGroups(m, []result.Arm{a, b}, []result.Arm{a, {Name: "without blocks"}}, 1)
		groupsA, groupsB := pair[0], pair[1]
		if cycles != c.cycles || len(groupsA.Trials) != c.groups || len(groupsB.Trials) != c.groups {
			t.Errorf("%s of blocks of %d calls: groups of %d cycles, %d and %d, want %d groups of %d", c.metric, c.calls, cycles, len(groupsA.Trials), len(groupsB.Trials), c.groups, c.cycles)
		}
		if c.cycles > 0 && (len(others) != 2 || len(others[0].Trials) != c.groups || len(others[1].Trials) != 0) {
			t.Errorf("%s: the other arms have %+v, want %d groups and none", c.metric, others, c.groups)
		}
		calls := uint64(0)
		for _, g := range groupsA.Trials {
			calls += g.Calls
		}
		if calls != 8*c.calls {
			t.Errorf("%s: %d of %d calls are in groups", c.metric, calls, 8*c.calls)
		}
	}
}

// A cycle without a block of both arms is no pair.
func TestACycleThatOneArmMissesIsNoPair(t *testing.T) {
	a := result.Arm{Trials: []result.Trial{inBlocks(t, 1, 1, 300, 10, 11, 12, 13)}}
	b := result.Arm{Trials: []result.Trial{inBlocks(t, 1, 3, 300, 10, 10, 10, 10)}}
	groups, _, _ := inGroups(metrics[0], []result.Arm{a, b}, nil, 1)
	if len(groups[0].Trials) != 2 || groups[0].Trials[0].Latency.P50 < 11.9 {
		t.Errorf("%d groups", len(groups[0].Trials))
	}
}

func TestArmsOfFailedTrialsStayAsTheyAre(t *testing.T) {
	a := result.Arm{Trials: []result.Trial{inBlocks(t, 1, 1, 300, 10), {Round: 2, Failed: "died"}}}
	if same, _, cycles := inGroups(metrics[0], []result.Arm{a, a}, nil, 1); cycles != 0 || len(same[0].Trials) != 2 {
		t.Errorf("%d trials, groups of %d", len(same[0].Trials), cycles)
	}
}

// One late call makes the p99 of a short block late, and not that of the trial.
func TestALateCallOfAShortBlockDoesNotLimitItsTrial(t *testing.T) {
	for by, want := range map[result.Limit]string{result.LimitedByLateness: "", result.LimitedByProcessors: "limited"} {
		blocks := []result.Trial{trial(t, 1, 10, 100), trial(t, 2, 10, 100), trial(t, 3, 10, 100), trial(t, 4, 10, 100)}
		blocks[1].Limited, blocks[1].LimitedBy = "limited", by
		arm := result.Arm{Name: "a", Trials: []result.Trial{MergeBlocks(result.Trial{Round: 1}, blocks)}}
		groups, _, _ := inGroups(metric{name: "client_cpu"}, []result.Arm{arm, arm}, nil, 1)
		if arm.Trials[0].Limited != want || groups[0].Trials[1].Limited != want {
			t.Errorf("limited by %s: the trial %q, its second group %q, want %q", by, arm.Trials[0].Limited, groups[0].Trials[1].Limited, want)
		}
	}
}

// What is measured of a round up to an interrupt has fewer calls. As a round, it would make shares of failed calls alike.
func TestThePartOfARoundIsNoRound(t *testing.T) {
	failed := namedMetrics[slices.IndexFunc(namedMetrics, func(m metric) bool { return m.name == "failed" })]
	for _, part := range []bool{false, true} {
		d := result.Document{Baseline: "b"}
		for name, lost := range map[string]uint64{"a": 20, "b": 0} {
			arm := result.Arm{Name: name}
			for round := range 8 {
				x := result.Trial{Round: round + 1, Blocks: make([]result.Block, 10)}
				x.Calls, x.Errors = 1000, map[string]uint64{"UNAVAILABLE": lost + uint64(round%2)}
				arm.Trials = append(arm.Trials, x)
			}
			if part {
				x := result.Trial{Round: 9, Blocks: make([]result.Block, 1)}
				x.Calls, x.Errors = 10, map[string]uint64{}
				arm.Trials = append(arm.Trials, x)
			}
			d.Arms = append(d.Arms, arm)
		}
		slices.SortFunc(d.Arms, func(a, b result.Arm) int { return strings.Compare(a.Name, b.Name) })
		v := verdictOn(d, failed, comparison{d.Arms[0], d.Arms[1], result.OfBaseline}, nil, 1)
		if v.Decision != "worse" || v.Rounds != 8 {
			t.Errorf("with a part of a round %v: %s by %d rounds (%s), want worse by 8", part, v.Decision, v.Rounds, v.Reason)
		}
		before, after := d.Arms[1], d.Arms[0]
		before.Name = after.Name
		c := Compare(result.Document{Arms: []result.Arm{before}, Headline: []string{"failed"}}, result.Document{Arms: []result.Arm{after}, Headline: []string{"failed"}}, CompareOptions{})
		if r := ratioOf(t, c, "failed"); r.Decision != "worse" || r.Trials != [2]int{8, 8} {
			t.Errorf("two runs with a part of a round %v: %s by %d rounds, want worse by 8", part, r.Decision, r.Trials)
		}
	}
}

// A coarse clock shows no CPU time in a short block. A group of blocks has the mean of all its calls.
func TestABlockWithoutCPUTimeCounts(t *testing.T) {
	arm := result.Arm{Trials: []result.Trial{{Round: 1}}}
	for i, used := range []float64{0, 8, 0, 4} {
		arm.Trials[0].Blocks = append(arm.Trials[0].Blocks, result.Block{Cycle: i + 1, Calls: 100, ClientCPU: used, ServerCPU: new(used), ProxyCPU: used})
	}
	arm.Trials[0].Blocks[3].ServerCPU = nil // not known
	groups, _, cycles := inGroups(metric{name: "latency", tail: 0.05}, []result.Arm{arm}, nil, 1)
	if cycles != 2 || len(groups[0].Trials) != 2 {
		t.Fatalf("%d groups of %d cycles, want two of two", len(groups[0].Trials), cycles)
	}
	for i, want := range []struct{ client, server float64 }{{4, 4}, {2, 0}} {
		if r := groups[0].Trials[i].Resources; r.Client.CPU != want.client || r.Server.CPU != want.server || r.Proxy.CPU != want.client {
			t.Errorf("group %d used %+v, want %+v µs per call", i+1, r, want)
		}
	}
}

// In a block of which the share of other programs is not known, they may have taken as much as in the others.
func TestTheShareOfOtherProgramsIsThatOfBlocksOfWhichItIsKnown(t *testing.T) {
	known, unknown := 0.6, result.Trial{}
	one := result.Trial{}
	one.ElapsedMS, one.Machine = 1000, &result.Interference{Others: &known}
	unknown.ElapsedMS, unknown.Machine = 1000, &result.Interference{}
	if got := interferenceOf([]result.Trial{one, unknown}).Others; got == nil || *got != known {
		t.Errorf("other programs took %v of the CPU time, want %g", got, known)
	}
	if got := interferenceOf([]result.Trial{unknown}).Others; got != nil {
		t.Errorf("other programs took %g of the CPU time, want not known", *got)
	}
}
