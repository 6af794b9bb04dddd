package lab

import (
	"slices"
	"time"

	"rpclab/internal/result"
)

// ending decides after each round whether a series of rounds ends: the rounds of the run or, if arms take
// turns, of one cell.
type ending struct {
	looks   []int
	last    int           // number of rounds
	limit   time.Duration // 0: none
	began   time.Time
	round   time.Time       // when the current round began
	lengths []time.Duration // of the last three rounds
}

func newEnding(looks []int, last int, limit time.Duration, now time.Time) *ending {
	return &ending{looks: looks, last: last, limit: limit, began: now, round: now}
}

// started says that the arms are up and the first round begins. Arms that take turns start once, so that time is not part
// of how long a round takes.
func (e *ending) started(now time.Time) {
	if len(e.lengths) == 0 {
		e.round = now
	}
}

// after returns why the series ends after round n; empty: it continues. A series ends after its last round, at
// a look that decides, or if the next round would end after the time limit. The time limit does not depend on
// the results, so an end at the limit does not count as a look.
func (e *ending) after(n int, decided func() bool, now time.Time) result.Ended {
	e.lengths = append(e.lengths[max(0, len(e.lengths)-2):], now.Sub(e.round))
	e.round = now
	switch {
	case slices.Contains(e.looks, n) && decided():
		return result.EndedDecided
	case n == e.last:
		return result.EndedRounds
	case e.limit > 0 && now.Sub(e.began)+slices.Max(e.lengths) > e.limit:
		return result.EndedTime
	}
	return ""
}
