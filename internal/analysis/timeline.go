package analysis

import (
	"maps"
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// quietIntervals are the intervals of one second. Callers avoid backends, or have recovered, only if
// that lasts for a second.
const quietIntervals = int(time.Second / measure.TimelineInterval)

func sumOf(line []uint64, from, to int) (n uint64) {
	for i := from; i < min(to, len(line)); i++ {
		n += line[i]
	}
	return n
}

// due returns how many calls were due in some intervals, answered or not.
func due(line measure.Timeline, from, to int) uint64 {
	return answered(line, from, to) + sumOf(line.Lost, from, to)
}

// dueIntervals returns the number of intervals up to the last one in which a call was due.
func dueIntervals(line measure.Timeline) int {
	n := len(line.Lost)
	for _, of := range line.Due {
		n = max(n, len(of))
	}
	return n
}

// answered returns how many of the calls that were due in some intervals were answered.
func answered(line measure.Timeline, from, to int) uint64 { return sumOfAll(line.Due, from, to) }

func sumOfAll(lines map[string][]uint64, from, to int) (n uint64) {
	for _, of := range lines {
		n += sumOf(of, from, to)
	}
	return n
}

// endpointChange returns the ready endpoints (address by identity) at a time, the last set that was
// published before until, and when it was published; nil: the set did not change.
func endpointChange(at, until time.Time, history []cluster.Snapshot) (before, after map[string]string, changed *time.Time) {
	for _, snapshot := range history {
		ready := map[string]string{}
		for _, e := range snapshot.Ready() {
			ready[e.ID] = e.Addr.String()
		}
		switch {
		case before == nil || !snapshot.At.After(at):
			before, after = ready, ready
		case snapshot.At.Before(until) && !maps.Equal(ready, after):
			moment := snapshot.At
			after, changed = ready, &moment
		}
	}
	return before, after, changed
}

// wholeIntervals rounds a time that is known to the interval up to the end of the interval.
func wholeIntervals(d time.Duration) time.Duration {
	return (max(d, 1) + measure.TimelineInterval - 1).Truncate(measure.TimelineInterval)
}

func since(from, to time.Time) *float64 {
	d := max(result.Milliseconds(to.Sub(from)), 0)
	return &d
}

// beforeNext returns the timeline of a measurement without the lost calls that were in flight at the event that follows the one
// in the interval from, in the interval to, and failed after it: that event may be why. It assumes that calls end in the order in
// which they were due. If some hang longer than that, or more than twice as many as at the event before, all count as lost; so
// they do if any was dropped, since the timeline does not tell dropped from failed.
func beforeNext(seen measure.Measurement, from, to int) measure.Timeline {
	line := seen.Timeline
	lost, failed := sumOf(line.Lost, 0, to), sumOfAll(line.Errors, 0, to)
	usual := due(line, 0, from) - min(due(line, 0, from), sumOfAll(line.Errors, 0, from)+sumOfAll(line.Backends, 0, from)) // in flight
	if lost <= failed || lost-failed > 2*usual+1 || seen.Dropped > 0 {
		return line
	}
	later, first := lost-failed, min(to, dueIntervals(line))
	for first > 0 && due(line, first, to)+failed+sumOfAll(line.Backends, 0, to) < due(line, 0, to) {
		first--
	}
	if sumOf(line.Lost, first, to) < later {
		return line
	}
	line.Lost = slices.Clone(line.Lost)
	for i := min(to, len(line.Lost)) - 1; later > 0; i-- {
		n := min(later, line.Lost[i])
		line.Lost[i], later = line.Lost[i]-n, later-n
	}
	return line
}
