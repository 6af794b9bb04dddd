package analysis

import (
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// readyAgain returns when a backend became ready after a time, and since when it had not been ready; false: it was not ready again.
func readyAgain(id string, at time.Time, history []cluster.Snapshot) (unready, ready time.Time, ok bool) {
	for _, snapshot := range history {
		isReady := slices.ContainsFunc(snapshot.Ready(), func(e cluster.Endpoint) bool { return e.ID == id })
		switch {
		case isReady && snapshot.At.After(at):
			return unready, snapshot.At, true
		case isReady:
			unready = time.Time{}
		case unready.IsZero():
			unready = snapshot.At
		}
	}
	return unready, ready, false
}

// calledUnready reports whether a client called a backend in the last second in which it was not ready. It has the first half of
// the time that the backend was not ready to stop. Late answers, and calls that waited until the backend was ready, do not count.
func calledUnready(id string, unready, ready time.Time, seen measure.Measurement) bool {
	begin := unready.Add(ready.Sub(unready) / 2)
	if second := ready.Add(-time.Second); second.After(begin) {
		begin = second
	}
	from := int((max(begin.Sub(seen.Started), 0) + measure.TimelineInterval - 1) / measure.TimelineInterval)
	to := int(ready.Sub(seen.Started) / measure.TimelineInterval)
	return sumOf(seen.Timeline.Backends[id], from, to) > 0 && sumOf(seen.Timeline.Due[id], from, to) > 0
}
