package lab

import (
	"slices"
	"time"

	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// groups are the counts of calls per backend that belong together: those of the
// whole trial; or, when backends came and went, those of each second, over the
// backends that were ready at its start.
func groups(t result.Trial) [][]uint64 {
	if len(t.Events) == 0 || t.Timeline == nil {
		var counts []uint64
		for _, n := range t.Backends {
			counts = append(counts, n)
		}
		return [][]uint64{counts}
	}
	var all [][]uint64
	step := int(time.Second.Milliseconds() / t.Timeline.IntervalMS)
	for from := 0; from+step <= len(t.Timeline.Ready); from += step {
		var counts []uint64
		for _, line := range t.Timeline.Backends {
			var n uint64
			for i := from; i < min(from+step, len(line)); i++ {
				n += line[i]
			}
			if n > 0 {
				counts = append(counts, n)
			}
		}
		for len(counts) < t.Timeline.Ready[from] {
			counts = append(counts, 0) // ready, and left out
		}
		slices.Sort(counts)
		all = append(all, counts)
	}
	return all
}

func balance(groups [][]uint64) result.Balance {
	b := verdict.Pool(groups)
	return result.Balance{Jain: b.Jain, MaxOverMean: b.MaxOverMean, PRandom: b.PRandom}
}

func histogram(hdr string) (result.Histogram, error) {
	return result.Merge([]result.Histogram{{HDR: hdr}})
}
