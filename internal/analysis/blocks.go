package analysis

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// MergeBlocks merges blocks into their trial, and adds a summary of each block. The Round of a block is its
// cycle, and its Order is its place in the cycle.
func MergeBlocks(trial result.Trial, blocks []result.Trial) result.Trial {
	whole := result.Arm{Trials: blocks}
	if err := mergeTrials(&whole); err != nil {
		trial.Failed = err.Error()
		return trial
	}
	trial.Measures, trial.Limited = whole.Measures, whole.Limited
	trial.ElapsedMS = 0
	rateMS := 0.0
	trial.Machine = interferenceOf(blocks)
	trial.Servers = map[string]result.ServerUsage{}
	for _, b := range blocks {
		trial.ElapsedMS += b.ElapsedMS
		rateMS += b.RateMS()
		trial.LimitedBy = cmp.Or(trial.LimitedBy, b.LimitedBy)
		trial.Unknown = cmp.Or(trial.Unknown, b.Unknown)
		trial.Groups = append(trial.Groups, b.Groups...)
		addServers(trial.Servers, b.Servers)
		for _, lost := range b.Lost {
			if !slices.Contains(trial.Lost, lost) {
				trial.Lost = append(trial.Lost, lost)
			}
		}
		if len(b.ProxyConnections) > 0 {
			trial.ProxyConnections = b.ProxyConnections // counted since the proxy started
		}
		trial.Blocks = append(trial.Blocks, blockOf(trial, b))
	}
	if trial.Window != nil {
		trial.Window.LengthMS = rateMS
	}
	if trial.LimitedBy == result.LimitedByLateness { // judge the whole trial: the p99 of a short block is its latest call
		trial.Limited, trial.LimitedBy = Late(trial.Measures)
	}
	trial.Callers, trial.Memory = mergeCallers(blocks), memoryInTurns(blocks)
	return trial
}

// blockOf summarizes a block of a trial.
func blockOf(trial, b result.Trial) result.Block {
	block := result.Block{
		Cycle: b.Round, Place: b.Order, StartMS: result.Milliseconds(b.Started.Sub(trial.Started)),
		Calls: b.Calls, Errors: b.Errors, Dropped: b.Dropped, Rate: b.Rate, ElapsedMS: b.ElapsedMS,
		Latency: b.Latency, AnsweredLatency: b.AnsweredLatency, Lateness: b.Lateness, AnsweredLateness: b.AnsweredLateness,
		ClientCPU: b.Resources.Client.CPU, ProxyCPU: b.Resources.Proxy.CPU, GatewayCPU: b.Resources.Gateway.CPU,
		Limited: b.Limited, LimitedBy: b.LimitedBy, Machine: b.Machine,
	}
	if b.Resources.Server != (result.Usage{}) { // rpclab started it
		block.ServerCPU = new(b.Resources.Server.CPU)
	}
	return block
}

// interferenceOf returns the mean interference of blocks; nil: not measured. In a block, steal time under half
// a second counts as 0; [Interference] measures it over the whole round.
func interferenceOf(blocks []result.Trial) *result.Interference {
	var all *result.Interference
	var elapsed, others, known float64 // known: the time of which the share of others is known
	for _, b := range blocks {
		if b.Machine == nil {
			continue
		}
		all = cmp.Or(all, &result.Interference{})
		all.Stolen += b.Machine.Stolen * b.ElapsedMS
		all.Throttled += b.Machine.Throttled * b.ElapsedMS
		elapsed += b.ElapsedMS
		if b.Machine.Others != nil {
			others, known = others+*b.Machine.Others*b.ElapsedMS, known+b.ElapsedMS
		}
	}
	if all == nil || elapsed == 0 {
		return all
	}
	all.Stolen, all.Throttled = all.Stolen/elapsed, all.Throttled/elapsed
	if known > 0 {
		all.Others = new(others / known)
	}
	return all
}

func addServers(all map[string]result.ServerUsage, more map[string]result.ServerUsage) {
	for id, u := range more {
		sum := all[id]
		sum.CPUMS, sum.ThrottledMS = sum.CPUMS+u.CPUMS, sum.ThrottledMS+u.ThrottledMS
		sum.RSS, sum.Charged = max(sum.RSS, u.RSS), max(sum.Charged, u.Charged)
		all[id] = sum
	}
}

// memoryInTurns returns the most memory in each block, at the mean time between the starts of blocks; nil: not measured.
func memoryInTurns(blocks []result.Trial) *result.Memory {
	read := slices.DeleteFunc(slices.Clone(blocks), func(b result.Trial) bool { return b.Memory == nil || len(b.Memory.Servers) == 0 })
	switch len(read) {
	case 0:
		return nil
	case 1:
		return read[0].Memory
	}
	between := read[len(read)-1].Started.Sub(read[0].Started) / time.Duration(len(read)-1)
	all := &result.Memory{IntervalMS: max(between.Milliseconds(), 1)}
	for _, b := range read {
		all.Servers = append(all.Servers, slices.Max(b.Memory.Servers))
	}
	return all
}

// mergeCallers merges what each caller measured in each block; nil: there is only one caller.
func mergeCallers(blocks []result.Trial) (all []result.Caller) {
	took := 0.0
	for _, b := range blocks {
		took += b.RateMS()
		for _, c := range b.Callers {
			c.Rate *= b.RateMS()
			i := slices.IndexFunc(all, func(other result.Caller) bool { return other.Name == c.Name })
			if i < 0 {
				c.Errors, c.Backends = maps.Clone(c.Errors), maps.Clone(c.Backends)
				all = append(all, c)
				continue
			}
			all[i] = addCaller(all[i], c)
		}
	}
	for i := range all {
		if took > 0 {
			all[i].Rate /= took
		}
	}
	return all
}

// addCaller adds a caller of a block to that of other blocks. Their rates are calls.
func addCaller(all, c result.Caller) result.Caller {
	calls := float64(all.Calls + c.Calls)
	if calls > 0 {
		all.Resources.CPU = (all.Resources.CPU*float64(all.Calls) + c.Resources.CPU*float64(c.Calls)) / calls
	}
	all.Rate += c.Rate
	all.Calls += c.Calls
	all.Resources.RSS = max(all.Resources.RSS, c.Resources.RSS)
	failure.AddCounts(all.Errors, c.Errors)
	for id, n := range c.Backends {
		all.Backends[id] += n
	}
	if merged, err := result.Merge([]result.Histogram{all.Latency, c.Latency}); err == nil {
		all.Latency = merged
	}
	return all
}
