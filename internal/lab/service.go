package lab

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// between says of an event that is done to no backend, but to what stands between, when
// calls were lost and when no more.
func between(e *result.Event, a act, until time.Time, from, to int, seen measure.Measurement, history []cluster.Snapshot) {
	if !a.event.KillProxy && !a.event.KillControl && a.event.DNS == nil {
		return
	}
	took := func(interval int) *float64 {
		return new(ms(wholeIntervals(time.Duration(interval)*measure.Interval - a.at.Sub(seen.Started))))
	}
	first, again := outage(seen.Timeline, from, min(to, dueIntervals(seen.Timeline)))
	if first >= 0 {
		e.Took.FirstLoss = took(first + 1)
	}
	if again >= 0 {
		e.Took.ServedAgain = took(again)
	}
	if !a.back.IsZero() {
		e.Took.PartBack = since(a.at, a.back)
	}
	if a.event.DNS != nil && a.event.DNS.Lie {
		e.Took.ClientTold = toldLie(a.at, until, seen.Told, history)
	}
}

// outage are the numbers of the first interval of a span in which a call was due that was lost, and of the
// first from which on none was for a second in which calls were due; -1: there is none.
func outage(line measure.Timeline, from, to int) (first, again int) {
	first, again = from, -1
	for first < to && sumOf(line.Lost, first, first+1) == 0 {
		first++
	}
	if first >= to {
		return -1, -1
	}
	for i := first + 1; i+calm <= to; i++ {
		if due(line, i, i+calm) > 0 && sumOf(line.Lost, i, i+calm) == 0 {
			return first, i
		}
	}
	return first, again
}

// toldLie is when the client was told addresses of which none is a backend's; nil: it was
// not, as one that does not ask meanwhile.
func toldLie(at, until time.Time, told []measure.Told, history []cluster.Snapshot) *float64 {
	before, _, _ := change(at, at, history)
	backends := map[string]bool{}
	for _, addr := range before {
		backends[addr] = true
	}
	for _, t := range told {
		lie := len(t.Addrs) > 0 && t.At.After(at) && t.At.Before(until)
		for _, addr := range t.Addrs {
			lie = lie && !backends[addr]
		}
		if lie {
			return since(at, t.At)
		}
	}
	return nil
}
