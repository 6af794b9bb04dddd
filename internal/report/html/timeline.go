package html

import (
	"maps"
	"math"
	"slices"

	"rpclab/internal/report"
	"rpclab/internal/result"
)

// maxSteps bounds the points of a timeline: a chart cannot show more than 150, and a page with
// many timelines gets fewer for each, to stay small.
func maxSteps(timelines int) int { return min(150, max(40, 150*30/max(timelines, 1))) }

func timeline(t result.Trial, most int) *Timeline {
	line := t.Timeline
	steps := max(len(line.Errors), len(line.Ready))
	for _, counts := range line.Backends {
		steps = max(steps, len(counts))
	}
	together := (steps + most - 1) / most
	c := &Timeline{Round: t.Round, Step: Num(line.IntervalMS * int64(together)), Errors: sums(line.Errors, together), Backends: []Line{}, Ready: []int{}}
	for _, id := range slices.Sorted(maps.Keys(line.Backends)) {
		c.Backends = append(c.Backends, Line{Backend: report.Clean(id), Calls: sums(line.Backends[id], together)})
	}
	for i := 0; i < len(line.Ready); i += together {
		c.Ready = append(c.Ready, line.Ready[i])
	}
	for _, e := range t.Events {
		c.Marks = append(c.Marks, Mark{At: Num(e.AtMS), What: report.Clean(e.What)})
	}
	return c
}

// leastIntervals is how many intervals latency over time needs.
const leastIntervals = 3

// overTime returns the latency of a trial over time; nil: it has too few intervals.
func overTime(t result.Trial) *OverTime {
	of := t.LatencyOverTime
	if of == nil || len(of.P50) < leastIntervals {
		return nil
	}
	return &OverTime{Round: t.Round, Step: Num(of.IntervalMS), P50: known(of.P50), P99: known(of.P99)}
}

func known(all []*float64) (out []Num) {
	for _, v := range all {
		if v == nil {
			out = append(out, Num(math.NaN()))
			continue
		}
		out = append(out, Num(*v))
	}
	return out
}

// memory is that of servers in the first trial in which it was looked at.
func memory(arm result.Arm, most int) *Memory {
	t, ok := report.MemoryTrial(arm)
	if !ok {
		return nil
	}
	readings := t.Memory.Servers
	together := (len(readings) + most - 1) / most
	mb := func(bytes uint64) Num { return Num(float64(bytes) / 1e6) }
	m := &Memory{Round: t.Round, Step: Num(t.Memory.IntervalMS * int64(together)), Start: mb(readings[0]), End: mb(readings[len(readings)-1])}
	for step := range slices.Chunk(readings, together) {
		m.MB = append(m.MB, mb(slices.Max(step)))
	}
	return m
}

// sums adds up as many counts as lie together.
func sums(counts []uint64, together int) []uint64 {
	out := make([]uint64, 0, len(counts)/max(together, 1)+1)
	for i, n := range counts {
		if i%together == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] += n
	}
	return out
}
