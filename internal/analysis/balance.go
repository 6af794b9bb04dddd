package analysis

import (
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// groups are counts of calls per backend, from each of which balance is computed: one group
// for the whole trial or, where events changed the backends, one for each second in which the
// set of ready backends did not change. A trial without such a second is one group.
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
		var whole []uint64
		for _, calls := range backends {
			whole = append(whole, calls)
		}
		slices.Sort(whole)
		return [][]uint64{whole}
	}
	return all
}

// steady is the set of ready backends; false: it changed between the two times.
func steady(history []cluster.Snapshot, from, to time.Time) (ready []string, ok bool) {
	before, _, changed := endpointChange(from, to, history)
	for id := range before {
		ready = append(ready, id)
	}
	return ready, changed == nil
}

// counts are the calls of some intervals to each ready backend, and after those to every
// other backend that received any.
func counts(lines map[string][]uint64, ready []string, from, to int) []uint64 {
	var right, wrong []uint64
	for _, id := range ready {
		right = append(right, sumOf(lines[id], from, to))
	}
	for id, line := range lines {
		if n := sumOf(line, from, to); n > 0 && !slices.Contains(ready, id) {
			wrong = append(wrong, n)
		}
	}
	slices.Sort(right)
	slices.Sort(wrong)
	return append(right, wrong...)
}

func balance(groups [][]uint64) result.Balance {
	b := verdict.Pool(groups)
	return result.Balance{
		Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom, Pattern: string(verdict.PatternOf(groups)),
	}
}
