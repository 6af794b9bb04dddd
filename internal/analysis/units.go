package analysis

import (
	"math"
	"slices"

	"rpclab/internal/result"
)

// perBlock are the metrics, other than percentiles, that have a value for each block. All other metrics have
// one value for each round.
var perBlock = []string{"latency_mean", "rate", "elapsed", "client_cpu", "server_cpu", "proxy_cpu", "gateway_cpu"}

// inGroups returns two arms that took turns, with groups of cycles in place of their trials. It returns the
// other arms with the same groups, except groups of which an arm lacks a block. A group is the smallest number
// of consecutive cycles in which both arms have enough calls for the metric. inGroups leaves the arms as they
// are if a trial of the two failed, or if the metric has one value for each round.
func inGroups(m metric, a, b result.Arm, others []result.Arm) (_, _ result.Arm, _ []result.Arm, cycles int) {
	if m.tail == 0 && !slices.Contains(perBlock, m.name) {
		return a, b, others, 0
	}
	blocksA, blocksB := blocksOf(a), blocksOf(b)
	var inBoth []int
	for cycle := range blocksA {
		if _, ok := blocksB[cycle]; ok {
			inBoth = append(inBoth, cycle)
		}
	}
	if len(inBoth) == 0 {
		return a, b, others, 0
	}
	slices.Sort(inBoth)
	cycles = cyclesOfGroup(m, inBoth, blocksA, blocksB)
	groups := slices.Collect(slices.Chunk(inBoth, cycles))
	if last := len(groups) - 1; last > 0 && len(groups[last]) < cycles {
		groups = groups[:last]
		groups[last-1] = inBoth[(last-1)*cycles:] // the last group has the rest
	}
	if m.tail == 0 {
		blocksA, blocksB = judgedByTrials(blocksA), judgedByTrials(blocksB)
	}
	a.Trials, b.Trials = grouped(groups, blocksA), grouped(groups, blocksB)
	others = slices.Clone(others)
	for i := range others {
		others[i].Trials = grouped(groups, blocksOf(others[i]))
	}
	return a, b, others, cycles
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

// blocksOf returns the blocks of an arm by cycle; nil: a trial failed, or its load was one piece.
func blocksOf(arm result.Arm) map[int]result.Block {
	all := map[int]result.Block{}
	for _, t := range arm.Trials {
		if t.Failed != "" {
			return nil
		}
		for _, b := range t.Blocks {
			all[b.Cycle] = b
		}
	}
	return all
}

// cyclesOfGroup returns the smallest size of groups that all have enough calls for the metric, or the number of
// all cycles.
func cyclesOfGroup(m metric, cycles []int, blocks ...map[int]result.Block) int {
	needed := uint64(1)
	if m.tail > 0 {
		needed = uint64(math.Ceil(10/m.tail - 1e-6))
	}
	for size := 1; size < len(cycles); size++ {
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
			Latency: b.Latency, AnsweredLatency: b.AnsweredLatency, Lateness: b.Lateness,
		}
		t.Resources.Client.CPU, t.Resources.Server.CPU = b.ClientCPU, b.ServerCPU
		t.Resources.Proxy.CPU, t.Resources.Gateway.CPU = b.ProxyCPU, b.GatewayCPU
		of = append(of, t)
	}
	if len(of) > 1 {
		of[0] = MergeBlocks(result.Trial{}, of)
		of[0].Blocks = nil
	}
	of[0].Round = n
	return of[0]
}
