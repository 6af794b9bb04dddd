package analysis

import (
	"cmp"
	"math"
	"slices"

	"rpclab/internal/result"
)

// perBlock are the metrics, other than percentiles, that have a value for each block. All other metrics have
// one value for each round.
var perBlock = []string{"latency_mean", "rate", "elapsed", "client_cpu", "server_cpu", "proxy_cpu", "gateway_cpu"}

// inGroups returns arms that took turns, with groups of cycles in place of their trials. It returns other arms with
// the same groups, except groups of which an arm lacks a block. A group is the smallest number of consecutive
// cycles, at least so many, in which all of the first arms have enough calls for the metric. inGroups leaves the
// arms as they are, and returns 0, if a trial of the first arms failed. If the metric has one value for each round, it returns 0
// and the whole rounds.
func inGroups(m metric, arms, others []result.Arm, least int) (_, _ []result.Arm, cycles int) {
	if m.tail == 0 && !slices.Contains(perBlock, m.name) {
		return wholeRounds(arms), wholeRounds(others), 0
	}
	var blocks []map[int]result.Block
	for _, arm := range arms {
		blocks = append(blocks, blocksOf(arm))
	}
	var inAll []int
	for cycle := range blocks[0] {
		if !slices.ContainsFunc(blocks, func(of map[int]result.Block) bool { _, has := of[cycle]; return !has }) {
			inAll = append(inAll, cycle)
		}
	}
	if len(inAll) == 0 {
		return arms, others, 0
	}
	slices.Sort(inAll)
	cycles = cyclesOfGroup(m, inAll, least, blocks...)
	groups := slices.Collect(slices.Chunk(inAll, cycles))
	if last := len(groups) - 1; last > 0 && len(groups[last]) < cycles {
		groups = groups[:last]
		groups[last-1] = inAll[(last-1)*cycles:] // the last group has the rest
	}
	arms, others = slices.Clone(arms), slices.Clone(others)
	for i := range arms {
		arms[i].Limited = m.limitOfTrials(arms[i])
		if m.tail == 0 {
			blocks[i] = judgedByTrials(blocks[i])
		}
		arms[i].Trials = grouped(groups, blocks[i])
	}
	for i := range others {
		others[i].Trials = grouped(groups, blocksOf(others[i]))
	}
	return arms, others, cycles
}

// wholeRounds returns the arms without the part of a round that an interrupt left. It has fewer blocks than the other rounds.
func wholeRounds(arms []result.Arm) []result.Arm {
	arms = slices.Clone(arms)
	for i := range arms {
		most := map[int]int{} // blocks, by group of arms
		for _, t := range arms[i].Trials {
			most[t.Group] = max(most[t.Group], len(t.Blocks))
		}
		arms[i].Trials = slices.DeleteFunc(slices.Clone(arms[i].Trials), func(t result.Trial) bool { return t.Failed == "" && len(t.Blocks) < most[t.Group] })
	}
	return arms
}

// runsInGroups returns an arm of two runs with groups of cycles in place of its trials, the number of cycles of a
// group in both runs, and whether the values of either run are neighbours. It returns 0, and the
// whole rounds, if the arm took turns in one run only, if a trial failed, or if the metric has one value for each round.
func runsInGroups(m metric, a, b result.Arm) (_, _ result.Arm, cycles int, consecutive bool) {
	_, _, inA := inGroups(m, []result.Arm{a}, nil, 1)
	_, _, inB := inGroups(m, []result.Arm{b}, nil, 1)
	if inA == 0 || inB == 0 {
		whole := wholeRounds([]result.Arm{a, b})
		return whole[0], whole[1], 0, tookTurns(a) || tookTurns(b)
	}
	cycles = max(inA, inB)
	ofA, _, _ := inGroups(m, []result.Arm{a}, nil, cycles)
	ofB, _, _ := inGroups(m, []result.Arm{b}, nil, cycles)
	return ofA[0], ofB[0], cycles, true
}

// judgedByTrials removes the limit by lateness from all blocks: a short block has a late call more often than 1
// % of its calls are late. Only whole trials show whether lateness limits the arm.
func judgedByTrials(blocks map[int]result.Block) map[int]result.Block {
	for cycle, b := range blocks {
		if b.LimitedBy == result.LimitedByLateness {
			b.Limited, b.LimitedBy = "", ""
			blocks[cycle] = b
		}
	}
	return blocks
}

// grouped returns a trial for each group of cycles of which the arm has all blocks.
func grouped(groups [][]int, blocks map[int]result.Block) (trials []result.Trial) {
	for i, cycles := range groups {
		if !slices.ContainsFunc(cycles, func(cycle int) bool { _, has := blocks[cycle]; return !has }) {
			trials = append(trials, group(i+1, cycles, blocks))
		}
	}
	return trials
}

// blocksOf returns the blocks of an arm by cycle; nil: a trial failed, or the load of one was one piece.
func blocksOf(arm result.Arm) map[int]result.Block {
	all := map[int]result.Block{}
	for _, t := range arm.Trials {
		if t.Failed != "" || len(t.Blocks) == 0 {
			return nil
		}
		for _, b := range t.Blocks {
			all[b.Cycle] = withSteal(b, t)
		}
	}
	return all
}

// withSteal returns a block with the steal time of its trial: a block is too short to have one of its own
// ([measure.ProcessorTimes.StolenShare]).
func withSteal(b result.Block, of result.Trial) result.Block {
	if of.Machine != nil && b.Machine != nil {
		machine := *b.Machine
		machine.Stolen = max(machine.Stolen, of.Machine.Stolen)
		b.Machine = &machine
	}
	return b
}

// cyclesOfGroup returns the smallest size of groups, at least so large, that all have enough calls for the metric,
// or the number of all cycles.
func cyclesOfGroup(m metric, cycles []int, least int, blocks ...map[int]result.Block) int {
	needed := uint64(1)
	if m.tail > 0 {
		needed = uint64(math.Ceil(10/m.tail - 1e-6))
	}
	for size := least; size < len(cycles); size++ {
		if !slices.ContainsFunc(blocks, func(of map[int]result.Block) bool { return fewestCalls(cycles, size, of) < needed }) {
			return size
		}
	}
	return len(cycles)
}

// fewestCalls returns the smallest number of calls in any group of size cycles.
func fewestCalls(cycles []int, size int, blocks map[int]result.Block) uint64 {
	fewest := uint64(math.MaxUint64)
	for group := range slices.Chunk(cycles, size) {
		if len(group) < size {
			break // it belongs to the group before it
		}
		calls := uint64(0)
		for _, cycle := range group {
			calls += blocks[cycle].Calls
		}
		fewest = min(fewest, calls)
	}
	return fewest
}

// group merges the blocks of some cycles into a trial.
func group(n int, cycles []int, blocks map[int]result.Block) result.Trial {
	var of []result.Trial
	for _, cycle := range cycles {
		b := blocks[cycle]
		t := result.Trial{Machine: b.Machine, Limited: b.Limited, LimitedBy: b.LimitedBy}
		t.Measures = result.Measures{
			Calls: b.Calls, Errors: b.Errors, Dropped: b.Dropped, Rate: b.Rate, ElapsedMS: b.ElapsedMS,
			Latency: b.Latency, AnsweredLatency: b.AnsweredLatency, Lateness: b.Lateness, AnsweredLateness: b.AnsweredLateness,
		}
		t.Resources.Client.CPU, t.Resources.Server.CPU = b.ClientCPU, *cmp.Or(b.ServerCPU, new(float64))
		t.Resources.Proxy.CPU, t.Resources.Gateway.CPU = b.ProxyCPU, b.GatewayCPU
		of = append(of, t)
	}
	if len(of) > 1 {
		of[0] = MergeBlocks(result.Trial{}, of)
		of[0].Blocks = nil
		setCPU(&of[0].Resources, cycles, blocks)
	}
	of[0].Round = n
	return of[0]
}

// setCPU sets the CPU time per call of merged blocks. A CPU time of 0 is that of a short block by a coarse clock. In a trial it
// is not known, unless the memory is.
func setCPU(r *result.Resources, cycles []int, blocks map[int]result.Block) {
	mean := func(of func(result.Block) *float64) float64 {
		var used, calls float64
		for _, cycle := range cycles {
			if cpu, n := of(blocks[cycle]), float64(blocks[cycle].Calls); cpu != nil {
				used, calls = used+*cpu*n, calls+n
			}
		}
		return used / max(calls, 1)
	}
	r.Client.CPU = mean(func(b result.Block) *float64 { return &b.ClientCPU })
	r.Server.CPU = mean(func(b result.Block) *float64 { return b.ServerCPU })
	r.Proxy.CPU = mean(func(b result.Block) *float64 { return &b.ProxyCPU })
	r.Gateway.CPU = mean(func(b result.Block) *float64 { return &b.GatewayCPU })
}
