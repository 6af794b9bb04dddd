package analysis

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

// outcomes returns the events with their effects until the next event or the end of the load.
func outcomes(events []PerformedEvent, seen measure.Measurement, history []cluster.Snapshot) []result.Event {
	var all []result.Event
	end := seen.Started.Add(seen.Elapsed)
	added := additions(events, end, history)
	for i, a := range events {
		until := untilNext(events, i, end)
		e := a.Result(seen.Started)
		e.Errors = map[string]uint64{}
		if a.Err != nil {
			all = append(all, e)
			continue
		}
		from, to := span(a.Time.Sub(seen.Started), until.Sub(seen.Started), i+1 == len(events))
		for code, line := range seen.Timeline.Errors {
			if n := sumOf(line, from, to); n > 0 {
				e.Errors[code] = n
				e.Failed += n
			}
		}
		e.Late = sumOf(seen.Timeline.Late, from, to)
		e.Added = len(added[i].ids)
		if mixed := added[i].mixed(until); mixed == "" {
			e.Took = convergenceTimes(a.Time, until, seen, history)
		} else { // what else follows is not an effect of this event alone
			e.Took = result.Took{BalanceNote: mixed, BalanceCause: &result.Cause{Kind: result.CauseTime}}
			if e.Added > 0 {
				e.Took.EndpointReady = since(a.Time, added[i].ready)
			}
		}
		first, unready := firstResponse(a.Time, added[i], seen, history)
		if e.CalledUnready = unready; first != nil {
			e.Took.FirstCall = since(a.Time, *first)
		}
		settled := seen
		if i+1 < len(events) {
			settled.Timeline = beforeNext(seen, from, to)
		}
		setAvoidance(&e, a, from, to, settled, history)
		setOutage(&e, a, until, from, to, settled, history)
		e.Unfinished = unfinished(a, i+1 == len(events), end, history)
		all = append(all, e)
	}
	return all
}

// withoutBackends removes from events what is known only if it is known which backends answered.
func withoutBackends(events []result.Event) []result.Event {
	for i := range events {
		e := &events[i]
		e.BackendsUnknown = true
		e.Took.FirstCall, e.Took.Avoided, e.Took.BalanceRestored, e.Took.BalanceNote, e.Took.BalanceCause = nil, nil, nil, "", nil
		e.CalledBefore, e.CalledUnready, e.AnsweredByAffected, e.Answered, e.AvoidedUnknown = nil, false, 0, 0, false
	}
	return events
}

// unfinished returns how far a rollout, or a scaling that is the last event, was at the end of the
// load; nil: it was complete.
func unfinished(a PerformedEvent, last bool, end time.Time, history []cluster.Snapshot) *result.Unfinished {
	_, ready, _ := endpointChange(a.Time, end, history)
	var u result.Unfinished
	switch {
	case a.Rolls():
		u.Of = len(a.Backends)
		for _, id := range a.Backends {
			if _, remains := ready[id]; !remains {
				u.Done++
			}
		}
	case a.Scale > 0 && last: // later events change the number of ready backends too
		u.Done, u.Of = len(ready), a.Scale
	}
	if u.Done >= u.Of {
		return nil
	}
	return &u
}

// span returns the first interval, that of the time from, and the interval after the last: that of
// the time to, or math.MaxInt for all intervals to the end.
func span(from, to time.Duration, toEnd bool) (int, int) {
	if toEnd {
		return int(max(from, 0) / measure.TimelineInterval), math.MaxInt
	}
	return int(max(from, 0) / measure.TimelineInterval), int(to / measure.TimelineInterval)
}

// setAvoidance sets how many of the calls that were due before the next event got responses from
// the affected backends, and when callers began to avoid these backends.
func setAvoidance(e *result.Event, a PerformedEvent, from, to int, seen measure.Measurement, history []cluster.Snapshot) {
	if len(a.Backends) == 0 {
		return
	}
	line := seen.Timeline
	ready, _, _ := endpointChange(a.Time, a.Time, history)
	s := affectedBackends{ids: a.Backends, ready: len(ready), leaving: leaves(a.Event), from: from + 1, to: min(to, dueIntervals(line))}
	s.stillServing = a.Event.Cut != nil && a.Event.Cut.How == "reset"
	e.Ready = s.ready
	e.CalledBefore = new(s.answeredByAffected(line, max(s.from-1-quietIntervals, 0), s.from-1) > 0)
	e.Answered, e.AnsweredByAffected = answered(line, s.from, s.to), s.answeredByAffected(line, s.from, s.to)
	if i, ok := s.avoided(line); ok {
		e.Took.Avoided = new(result.Milliseconds(wholeIntervals(time.Duration(i)*measure.TimelineInterval - a.Time.Sub(seen.Started))))
	} else {
		e.AvoidedUnknown = *e.CalledBefore && s.tooShort(line)
	}
}

// convergenceTimes returns the times from the event until the endpoints were ready, the resolver
// updated, and calls were balanced again.
func convergenceTimes(at, until time.Time, seen measure.Measurement, history []cluster.Snapshot) result.Took {
	var t result.Took
	_, after, changed := endpointChange(at, until, history)
	if changed == nil {
		return t
	}
	t.EndpointReady = since(at, *changed)
	addrs := addresses(after)
	for _, update := range seen.ResolverUpdates {
		if update.At.After(at) && update.At.Before(until) && slices.Equal(slices.Sorted(slices.Values(update.Addrs)), addrs) {
			t.ResolverUpdated = since(at, update.At)
			break
		}
	}
	restored := verdict.Restored(
		verdict.Timeline{Width: measure.TimelineInterval, Calls: seen.Timeline.Backends},
		verdict.Disturbance{At: at.Sub(seen.Started), Until: until.Sub(seen.Started), Ready: slices.Collect(maps.Keys(after))})
	notRestored := reasonOf(restored.Reason, restored.Cause)
	t.BalanceNote, t.BalanceCause = notRestored.text, notRestored.fields()
	if restored.OK {
		// Balance cannot be restored before all endpoints are ready.
		t.BalanceRestored = new(result.Milliseconds(wholeIntervals(max(restored.Took, changed.Sub(at)))))
	}
	return t
}

// firstResponse returns the time of the first response from a backend that the event added or made ready again; nil: there was
// none. A backend that the client called while it was not ready is not new to it; calledAll: that is so of all these backends.
func firstResponse(at time.Time, added addition, seen measure.Measurement, history []cluster.Snapshot) (first *time.Time, calledAll bool) {
	called := 0
	for _, id := range added.ids {
		offset, ok := seen.FirstResponse[id]
		if !ok || seen.Started.Add(offset).Before(at) {
			from := at
			if unready, ready, is := readyAgain(id, at, history); is {
				if calledUnready(id, unready, ready, seen) {
					called++
					continue
				}
				if last := ready.Add(-measure.TimelineInterval); last.After(at) { // so the next interval has the moment when it is ready
					from = last
				}
			}
			offset, ok = nextResponse(seen.Timeline.Backends[id], from.Sub(seen.Started))
		}
		moment := seen.Started.Add(offset)
		if ok && moment.Before(added.until) && (first == nil || moment.Before(*first)) {
			first = &moment
		}
	}
	return first, called > 0 && called == len(added.ids)
}

// nextResponse returns the end of the first interval after a time in which responses arrived.
func nextResponse(line []uint64, after time.Duration) (time.Duration, bool) {
	for i := int(max(after, 0)/measure.TimelineInterval) + 1; i < len(line); i++ { // a busy machine may start a load after an event
		if line[i] > 0 {
			return time.Duration(i+1) * measure.TimelineInterval, true
		}
	}
	return 0, false
}

func addresses(ready map[string]string) []string { return slices.Sorted(maps.Values(ready)) }

// setOutage sets, for an event on a proxy, the control plane or the DNS server, when the first call
// was lost and when calls were answered again.
func setOutage(e *result.Event, a PerformedEvent, until time.Time, from, to int, seen measure.Measurement, history []cluster.Snapshot) {
	if !a.KillProxy && !a.KillControl && a.DNS == nil {
		return
	}
	after := func(interval int) *float64 {
		return new(result.Milliseconds(wholeIntervals(time.Duration(interval)*measure.TimelineInterval - a.Time.Sub(seen.Started))))
	}
	first, again := outage(seen.Timeline, from, to)
	if first >= 0 {
		e.Took.FirstLoss = after(first + 1)
	}
	if again >= 0 {
		e.Took.Recovered = after(again)
	}
	if !a.Restarted.IsZero() {
		e.Took.ProxyReady = since(a.Time, a.Restarted)
	}
	if a.DNS != nil && a.DNS.Lie {
		e.Took.ResolverUpdated = falseAddressesResolved(a.Time, until, seen.ResolverUpdates, history)
	}
}

// outage returns the first interval in which a call was lost, by when it was due or when it failed, and the one in which calls
// were answered again: the first answer to a call due in or after a second in which calls were due and none was lost. -1: there
// is no such interval. Calls that only waited, for example until the client was connected again, are late and not lost.
func outage(line measure.Timeline, from, to int) (first, again int) {
	dueUntil, lostDue := min(to, dueIntervals(line)), from
	first = -1
	for i := dueUntil - 1; i >= from; i-- {
		switch {
		case sumOf(line.Lost, i, i+1) > 0:
			first, lostDue = i, i
		case sumOfAll(line.Errors, i, i+1) > 0:
			first = i
		}
	}
	lostDue = max(lostDue, first)
	if first < 0 {
		if lostDue = pause(line, from, dueUntil); lostDue < 0 || pause(line, 0, from) >= 0 { // calls always take so long
			return -1, -1
		}
	}
	for i := lostDue + 1; i+quietIntervals <= dueUntil; i++ {
		if due(line, i, i+quietIntervals) > 0 && sumOf(line.Lost, i, i+quietIntervals) == 0 {
			return first, firstAnswer(line, i, to)
		}
	}
	return first, -1
}

// pause returns the first interval of half a second in which no call was answered, although one had been due by the end of that
// interval; -1: there is none. A busy machine makes calls late, too, and pauses are shorter there.
func pause(line measure.Timeline, from, to int) int {
	const length = int(500 * time.Millisecond / measure.TimelineInterval)
	for i := from; i+length <= to; i++ {
		waits := answered(line, 0, i+1) > sumOfAll(line.Backends, 0, i)
		if waits && sumOfAll(line.Backends, i, i+length) == 0 {
			return i
		}
	}
	return -1
}

// firstAnswer returns the interval of the first answer to a call that was due in some interval or later, as far as calls are
// answered in the order in which they were due; -1: there was none before the interval to.
func firstAnswer(line measure.Timeline, due, to int) int {
	last, earlier := 0, answered(line, 0, due)
	for _, of := range line.Backends {
		last = max(last, len(of))
	}
	for i := due; i < min(to, last); i++ {
		if sumOfAll(line.Backends, 0, i+1) > earlier {
			return i
		}
	}
	return -1
}

// falseAddressesResolved returns the time from the event until the client's resolver returned only
// addresses that are not a backend's; nil: the resolver did not, for example because it sent no
// query.
func falseAddressesResolved(at, until time.Time, updates []measure.ResolverUpdate, history []cluster.Snapshot) *float64 {
	before, _, _ := endpointChange(at, at, history)
	backends := map[string]bool{}
	for _, addr := range before {
		backends[addr] = true
	}
	for _, u := range updates {
		allFalse := len(u.Addrs) > 0 && u.At.After(at) && u.At.Before(until)
		for _, addr := range u.Addrs {
			allFalse = allFalse && !backends[addr]
		}
		if allFalse {
			return since(at, u.At)
		}
	}
	return nil
}

// followTime summarizes the times of trials until calls reached new backends; nil: no event added any.
func followTime(trials []result.Trial) *result.FollowTime {
	var took []float64
	for _, t := range trials {
		if v := followed(t); t.Failed == "" && !math.IsNaN(v) {
			took = append(took, v)
		}
	}
	if len(took) == 0 {
		return nil
	}
	f := &result.FollowTime{Trials: len(took)}
	for _, v := range took {
		if math.IsInf(v, 1) {
			f.Never++
		}
	}
	known := func(v float64) *float64 {
		if math.IsInf(v, 1) {
			return nil
		}
		return &v
	}
	f.MedianMS = known(verdict.Median(took))
	if low, high, ok := verdict.MedianInterval(took, 0.95); ok {
		f.LowMS, f.HighMS = known(low), known(high)
	}
	return f
}
