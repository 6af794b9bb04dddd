package measure

import (
	"math/bits"
	"time"
)

// LatencyInterval is the length of an interval of a [LatencySeries].
const LatencyInterval = time.Second

// LatencySeries holds the latencies of the answered calls that were due in each [LatencyInterval].
type LatencySeries []LatencyCounts

// LatencyCounts is a small histogram. The width of a bucket is at most 1/16 of the values in it.
type LatencyCounts struct {
	First  int      `json:"first"` // the bucket of Counts[0]
	Counts []uint64 `json:"counts,omitempty"`
}

// add records a latency. It allocates only in a new interval, and when the latency is outside the
// range so far.
func (s *LatencySeries) add(due, latency time.Duration) {
	interval := int(uint64(max(due, 0)) / uint64(LatencyInterval))
	if interval < len(*s) {
		counts := &(*s)[interval]
		if i := uint(bucket(latency) - counts.First); i < uint(len(counts.Counts)) {
			counts.Counts[i]++
			return
		}
	}
	s.grow(interval, latency)
}

func (s *LatencySeries) grow(interval int, latency time.Duration) {
	for len(*s) <= interval {
		*s = append(*s, LatencyCounts{})
	}
	(*s)[interval].add(bucket(latency), 1)
}

// merge adds a series that started a number of intervals later.
func (s *LatencySeries) merge(other LatencySeries, later int) {
	for i, counts := range other {
		for len(*s) <= i+later {
			*s = append(*s, LatencyCounts{})
		}
		for j, n := range counts.Counts {
			if n > 0 {
				(*s)[i+later].add(counts.First+j, n)
			}
		}
	}
}

func (c *LatencyCounts) add(bucket int, n uint64) {
	switch {
	case len(c.Counts) == 0:
		c.First = bucket
	case bucket < c.First:
		c.Counts = append(make([]uint64, c.First-bucket), c.Counts...)
		c.First = bucket
	}
	for len(c.Counts) <= bucket-c.First {
		c.Counts = append(c.Counts, 0)
	}
	c.Counts[bucket-c.First] += n
}

// Total returns the number of latencies.
func (c LatencyCounts) Total() (total uint64) {
	for _, n := range c.Counts {
		total += n
	}
	return total
}

// Percentile returns the percentile p, 0 to 100, to within 3 %. Lost calls count as slower than every
// answered call: ok is false if the percentile is that of a lost call, or if there are no calls.
func (c LatencyCounts) Percentile(p float64, lost uint64) (latency time.Duration, ok bool) {
	rank, seen := p/100*float64(c.Total()+lost), uint64(0)
	for i, n := range c.Counts {
		seen += n
		if n > 0 && float64(seen) >= rank {
			return middle(c.First + i), true
		}
	}
	return 0, false
}

// Intervals merges neighbouring intervals until at most limit remain, and returns how long each is.
func (s LatencySeries) Intervals(limit int) (merged LatencySeries, interval time.Duration) {
	width := (len(s) + limit - 1) / max(limit, 1)
	if width <= 1 {
		return s, LatencyInterval
	}
	for i, counts := range s {
		merged.merge(LatencySeries{counts}, i/width)
	}
	return merged, time.Duration(width) * LatencyInterval
}

// bucket returns the bucket of a latency. There are 16 buckets from each power of two to the next, in ns.
func bucket(latency time.Duration) int {
	n := uint64(min(max(latency, 0), MaxDuration))
	shift := max(bits.Len64(n)-5, 0)
	return shift*16 + int(n>>shift)
}

// middle returns the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 32 {
		return time.Duration(bucket)
	}
	shift := bucket/16 - 1
	first := uint64(bucket-16*shift) << shift
	return time.Duration(first + uint64(1)<<shift/2)
}
