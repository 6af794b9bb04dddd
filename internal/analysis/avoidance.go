package analysis

import (
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
)

// affectedBackends are the backends that an event affected, and the calls that it concerns.
type affectedBackends struct {
	ids          []string
	ready        int  // how many backends were ready just before the event
	leaving      bool // the event stops or kills them
	stillServing bool // they remain in service: only lost calls count
	// The intervals whose calls count: from the first one after the event up to the next event.
	from, to int
}

// leaves says whether an event stops or kills the backends that it affects.
func leaves(e experiment.Event) bool {
	return e.Scale > 0 || e.Stop > 0 || e.Kill > 0 || e.Rolls() || e.Drain > 0
}

// answeredByAffected counts the calls due in some intervals that those backends answered.
func (s affectedBackends) answeredByAffected(line measure.Timeline, from, to int) (n uint64) {
	for _, id := range s.ids {
		n += sumOf(line.Due[id], from, to)
	}
	return n
}

// stillCalled says whether callers still used those backends in some intervals: at all, if the backends
// stop; for more than half of their fair share, if they stay. Failed and dropped calls count as theirs,
// since their backend is not known.
func (s affectedBackends) stillCalled(line measure.Timeline, from, to int) bool {
	theirs := sumOf(line.Lost, from, to)
	if !s.stillServing {
		theirs += s.answeredByAffected(line, from, to)
	}
	if s.leaving || s.stillServing {
		return theirs > 0
	}
	return float64(theirs) > float64(len(s.ids))/float64(s.ready)/2*float64(due(line, from, to))
}

// tooShort reports whether the intervals end before callers that did not avoid those backends in the first second could
// show that they do later.
func (s affectedBackends) tooShort(line measure.Timeline) bool {
	return s.to < s.from+2*quietIntervals && !s.stillCalled(line, s.from+quietIntervals, s.to)
}

// avoided returns the interval from which callers avoided those backends. They avoid them if stillCalled
// is false for every one-second window that begins in the next second, or up to the next event. A window
// in which no call was due ends the sequence. If the backends were still called within the first window,
// avoided returns the interval after the last such call. False: callers did not avoid the backends, or
// already did before the event.
func (s affectedBackends) avoided(line measure.Timeline) (int, bool) {
	before := affectedBackends{ids: s.ids, ready: s.ready, leaving: s.leaving || s.stillServing}
	if len(s.ids) == 0 || s.ready == 0 || !before.stillCalled(line, max(s.from-1-quietIntervals, 0), s.from-1) {
		return 0, false
	}
	for i, quiet := s.from, 0; i+quietIntervals <= s.to; i++ {
		if due(line, i, i+quietIntervals) == 0 || s.stillCalled(line, i, i+quietIntervals) {
			quiet = 0
			continue
		}
		if quiet++; quiet <= quietIntervals && i+quietIntervals < s.to {
			continue
		}
		first := i - quiet + 1
		for last := first + quietIntervals - 1; last >= first; last-- {
			if s.stillCalled(line, last, last+1) {
				return last + 1, true
			}
		}
		return first, true
	}
	return 0, false
}
