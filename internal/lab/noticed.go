package lab

import (
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/measure"
)

// calm is for how long callers have to leave the backends that an event hit alone before
// that counts as noticed.
const calm = int(time.Second / measure.Interval)

// strike is an event on some backends, and the calls due from it to the next.
type strike struct {
	hit   []string
	ready int  // backends just before
	leave bool // those hit go away: stopped or killed
	back  bool // those hit serve on at once: only calls that are lost count
	// The intervals whose calls are looked at: from, the first one after the event, up to to.
	from, to int
}

// leaves says whether an event takes the backends away that it hits.
func leaves(e experiment.Event) bool {
	return e.Scale > 0 || e.Stop > 0 || e.Kill > 0 || e.Roll || e.Drain > 0
}

// byHit are the calls due in some intervals that the backends hit answered.
func (s strike) byHit(line measure.Timeline, from, to int) (n uint64) {
	for _, id := range s.hit {
		n += sumOf(line.Due[id], from, to)
	}
	return n
}

// goesOn says whether calls due in some intervals still went to the backends hit: any to
// those that go away, of those that stay more than half of their fair share. A call that
// failed or was dropped counts as theirs, since nobody says whose it was.
func (s strike) goesOn(line measure.Timeline, from, to int) bool {
	had := sumOf(line.Lost, from, to)
	if !s.back {
		had += s.byHit(line, from, to)
	}
	if s.leave || s.back {
		return had > 0
	}
	return float64(had) > float64(len(s.hit))/float64(s.ready)/2*float64(due(line, from, to))
}

// due is how many calls were due in some intervals, whatever became of them.
func due(line measure.Timeline, from, to int) uint64 {
	return answered(line, from, to) + sumOf(line.Lost, from, to)
}

// dueIntervals is how many intervals there are up to the last in which a call was due.
func dueIntervals(line measure.Timeline) int {
	n := len(line.Lost)
	for _, of := range line.Due {
		n = max(n, len(of))
	}
	return n
}

func answered(line measure.Timeline, from, to int) (n uint64) {
	for _, of := range line.Due {
		n += sumOf(of, from, to)
	}
	return n
}

// noticed is the number of the first interval from which on callers left the backends hit
// alone: in every second that began within a second, as long as one was seen before the
// next event. Intervals of the first such second in which it still went on come before
// it. A second in which no call was due shows nothing: who waits leaves nobody. False: they did not, or had left them alone before the event.
func (s strike) noticed(line measure.Timeline) (int, bool) {
	before := strike{hit: s.hit, ready: s.ready, leave: s.leave || s.back}
	if len(s.hit) == 0 || s.ready == 0 || !before.goesOn(line, max(s.from-1-calm, 0), s.from-1) {
		return 0, false
	}
	for i, quiet := s.from, 0; i+calm <= s.to; i++ {
		if due(line, i, i+calm) == 0 || s.goesOn(line, i, i+calm) {
			quiet = 0
			continue
		}
		if quiet++; quiet <= calm && i+calm < s.to {
			continue
		}
		first := i - quiet + 1
		for last := first + calm - 1; last >= first; last-- {
			if s.goesOn(line, last, last+1) {
				return last + 1, true
			}
		}
		return first, true
	}
	return 0, false
}
