package lab

import (
	"maps"
	"math"
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// outcomes says for every event what came of it until the next event, or the end.
func outcomes(acts []act, seen measure.Measurement, history []cluster.Snapshot) []result.Event {
	var all []result.Event
	for i, a := range acts {
		until := seen.Started.Add(seen.Elapsed)
		if i+1 < len(acts) && acts[i+1].at.Before(until) {
			until = acts[i+1].at
		}
		e := result.Event{AtMS: ms(a.at.Sub(seen.Started)), What: a.event.String(), Hit: a.hit, Errors: map[string]uint64{}}
		if a.err != nil {
			e.Error = a.err.Error()
			all = append(all, e)
			continue
		}
		from, to := span(a.at.Sub(seen.Started), until.Sub(seen.Started), i+1 == len(acts))
		for code, line := range seen.Timeline.Errors {
			if n := sumOf(line, from, to); n > 0 {
				e.Errors[code] = n
				e.Failed += n
			}
		}
		e.Late = sumOf(seen.Timeline.Late, from, to)
		e.Took = took(a.at, until, seen, history)
		hits(&e, a, from, to, seen, history)
		between(&e, a, until, from, to, seen, history)
		all = append(all, e)
	}
	return all
}

// span are the intervals from that of one moment up to that of another, or to the end.
func span(from, to time.Duration, toEnd bool) (int, int) {
	if toEnd {
		return int(max(from, 0) / measure.Interval), math.MaxInt
	}
	return int(max(from, 0) / measure.Interval), int(to / measure.Interval)
}

// hits says what the backends that an event hit got of the calls due until the next, and
// when that ended.
func hits(e *result.Event, a act, from, to int, seen measure.Measurement, history []cluster.Snapshot) {
	if len(a.hit) == 0 {
		return
	}
	line := seen.Timeline
	ready, _, _ := change(a.at, a.at, history)
	s := strike{hit: a.hit, ready: len(ready), leave: leaves(a.event), from: from + 1, to: min(to, dueIntervals(line))}
	s.back = a.event.Cut != nil && a.event.Cut.How == "reset"
	e.Ready = s.ready
	e.Answered, e.AnsweredByHit = answered(line, s.from, s.to), s.byHit(line, s.from, s.to)
	if i, ok := s.noticed(line); ok {
		e.Took.Noticed = new(ms(wholeIntervals(time.Duration(i)*measure.Interval - a.at.Sub(seen.Started))))
	}
}

func took(at, until time.Time, seen measure.Measurement, history []cluster.Snapshot) result.Took {
	var t result.Took
	before, after, changed := change(at, until, history)
	if changed == nil {
		return t
	}
	t.EndpointReady = since(at, *changed)
	addrs := addresses(after)
	for _, told := range seen.Told {
		if told.At.After(at) && told.At.Before(until) && slices.Equal(slices.Sorted(slices.Values(told.Addrs)), addrs) {
			t.ClientTold = since(at, told.At)
			break
		}
	}
	if answered := firstAnswer(at, until, before, after, seen); answered != nil {
		t.FirstCall = since(at, *answered)
	}
	restored := verdict.Restored(
		verdict.Timeline{Width: measure.Interval, Calls: seen.Timeline.Backends},
		verdict.Disturbance{At: at.Sub(seen.Started), Until: until.Sub(seen.Started), Ready: slices.Collect(maps.Keys(after))})
	t.BalanceNote = restored.Reason
	if restored.OK {
		// It cannot be back before the set is complete.
		t.BalanceRestored = new(ms(wholeIntervals(max(restored.Took, changed.Sub(at)))))
	}
	return t
}

// wholeIntervals is a time that is known to the interval: what is within the first one
// took that long.
func wholeIntervals(d time.Duration) time.Duration {
	return (max(d, 1) + measure.Interval - 1).Truncate(measure.Interval)
}

// firstAnswer is when a backend that the event brought, new or back again, answered
// first.
func firstAnswer(at, until time.Time, before, after map[string]string, seen measure.Measurement) (first *time.Time) {
	for id := range after {
		if _, known := before[id]; known {
			continue
		}
		answered, ok := seen.First[id]
		if moment := seen.Started.Add(answered); !ok || moment.Before(at) {
			answered, ok = next(seen.Timeline.Backends[id], at.Sub(seen.Started))
		}
		moment := seen.Started.Add(answered)
		if ok && moment.Before(until) && (first == nil || moment.Before(*first)) {
			first = &moment
		}
	}
	return first
}

// next is the end of the first interval after a moment in which calls were answered.
func next(line []uint64, after time.Duration) (time.Duration, bool) {
	for i := int(after/measure.Interval) + 1; i < len(line); i++ {
		if line[i] > 0 {
			return time.Duration(i+1) * measure.Interval, true
		}
	}
	return 0, false
}

// change is the set of ready endpoints before an event and the last one until the
// next, with the moment when it came about; nil: the set did not change.
func change(at, until time.Time, history []cluster.Snapshot) (before, after map[string]string, changed *time.Time) {
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

func addresses(ready map[string]string) []string { return slices.Sorted(maps.Values(ready)) }

func since(from, to time.Time) *float64 {
	d := max(ms(to.Sub(from)), 0)
	return &d
}

// wasted counts the calls that backends began and nobody got the answer of: those that
// failed or were given up, and of calls that were made more than once all but one. A
// backend that cannot say how many it began is left out; nil: none can.
func wasted(began, answered map[string]uint64) *uint64 {
	if len(began) == 0 {
		return nil
	}
	var n uint64
	for id, calls := range began {
		n += calls - min(answered[id], calls)
	}
	return &n
}
