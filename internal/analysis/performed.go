package analysis

import (
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// PerformedEvent is an event of the experiment that rpclab performed or failed to perform.
type PerformedEvent struct {
	experiment.Event
	Time      time.Time // just before rpclab performed the event
	Backends  []string  // identities of the affected backends
	Err       error     // why rpclab could not perform the event
	Restarted time.Time // when the killed proxies were ready again; zero: the event killed no proxy
}

// Result returns the event without its effects, which are known only after the load. start is the
// start of the load.
func (a PerformedEvent) Result(start time.Time) result.Event {
	action, count := a.Action()
	e := result.Event{AtMS: result.Milliseconds(a.Time.Sub(start)), DueMS: new(result.Milliseconds(a.At)), What: a.String(), Action: result.Action(action), Count: count,
		Resets: a.Cut != nil && a.Cut.How == "reset", Affected: a.Backends}
	if a.Err != nil {
		e.Error = a.Err.Error()
	}
	return e
}

// untilNext returns the time of the event after event i, or the end of the load.
func untilNext(events []PerformedEvent, i int, end time.Time) time.Time {
	if i+1 < len(events) && events[i+1].Time.Before(end) {
		return events[i+1].Time
	}
	return end
}
