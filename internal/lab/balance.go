package lab

import (
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// groups are the counts of calls per backend that belong together: those of the
// whole trial; or, when backends came and went, those of each second in which the
// set of ready backends stayed as it was, over that set. A trial in which no second
// did is one group.
func groups(backends map[string]uint64, events bool, seen measure.Measurement, history []cluster.Snapshot) [][]uint64 {
	var all [][]uint64
	const step = int(time.Second / measure.Interval)
	for from := 0; events && time.Duration(from+step)*measure.Interval <= seen.Elapsed; from += step {
		begin := seen.Started.Add(time.Duration(from) * measure.Interval)
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

// steady are the ready backends of a time in which that set did not change.
func steady(history []cluster.Snapshot, from, to time.Time) (ready []string, ok bool) {
	before, _, changed := change(from, to, history)
	for id := range before {
		ready = append(ready, id)
	}
	return ready, changed == nil
}

// counts are the calls of some intervals to each of the backends that should get
// them, and after those to any other that got some.
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

func sumOf(line []uint64, from, to int) (n uint64) {
	for i := from; i < min(to, len(line)); i++ {
		n += line[i]
	}
	return n
}

func balance(groups [][]uint64) result.Balance {
	b := verdict.Pool(groups)
	return result.Balance{
		Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom, Pattern: string(verdict.PatternOf(groups)),
	}
}

func histogram(hdr string) (result.Histogram, error) {
	return result.Merge([]result.Histogram{{HDR: hdr}})
}
