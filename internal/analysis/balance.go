package analysis

import (
	"maps"
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// groups returns groups of call counts, one count per backend; balance is computed from each group.
// Without events, the whole trial is one group. With events, each second in which the set of ready
// backends did not change is a group; if there is no such second, the whole trial is one group.
func groups(backends map[string]uint64, events bool, seen measure.Measurement, history []cluster.Snapshot) [][]uint64 {
	var all [][]uint64
	const step = int(time.Second / measure.TimelineInterval)
	for from := 0; events && time.Duration(from+step)*measure.TimelineInterval <= seen.Elapsed; from += step {
		begin := seen.Started.Add(time.Duration(from) * measure.TimelineInterval)
		if ready, ok := steady(history, begin, begin.Add(time.Second)); ok {
			all = append(all, counts(seen.Timeline.Backends, ready, from, from+step))
		}
	}
	if len(all) == 0 {
		return [][]uint64{slices.Sorted(maps.Values(backends))}
	}
	return all
}

// steady returns the ready backends; ok is false if they changed between the two times.
func steady(history []cluster.Snapshot, from, to time.Time) (ready []string, ok bool) {
	before, _, changed := endpointChange(from, to, history)
	for id := range before {
		ready = append(ready, id)
	}
	return ready, changed == nil
}

// counts returns the number of calls in the intervals [from, to): first of each ready backend, then of each
// other backend that received calls.
func counts(lines map[string][]uint64, ready []string, from, to int) []uint64 {
	var readyCalls, otherCalls []uint64
	for _, id := range ready {
		readyCalls = append(readyCalls, sumOf(lines[id], from, to))
	}
	for id, line := range lines {
		if n := sumOf(line, from, to); n > 0 && !slices.Contains(ready, id) {
			otherCalls = append(otherCalls, n)
		}
	}
	slices.Sort(readyCalls)
	slices.Sort(otherCalls)
	return append(readyCalls, otherCalls...)
}

// balance is zero if it is not known.
func balance(groups [][]uint64) result.Balance {
	if len(groups) == 0 {
		return result.Balance{}
	}
	b := verdict.Pool(groups)
	return result.Balance{
		Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom, Pattern: string(verdict.PatternOf(groups)),
	}
}
