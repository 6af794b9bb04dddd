package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
)

// The length of a block. Blocks are short, because many short cycles give a narrower interval than few long
// ones, but long enough for a median. Percentiles beyond the median are computed from groups of cycles.
const (
	minBlock     = 100 * time.Millisecond
	maxBlock     = 2 * time.Second
	callsOfBlock = 50
	maxBlocks    = 40 // of a trial
	// callsOfUser is how many calls a user has at least in a block of a closed loop with a duration. All users begin a
	// block at the same moment, so with one call each a block would be a burst, and the load would have more calls.
	callsOfUser = 5
)

// part is a part of a load that was made: how long it took, and its calls. The zero part: none was made.
type part struct {
	took  time.Duration
	calls uint64
}

// blockCount returns the number of blocks of a load of which a part has been seen.
func blockCount(l experiment.Load, seen part) int {
	length := minBlock
	whole := seen.wholeTime(l)
	switch {
	case l.Burst > 0:
		return 1 // its calls are due at the same time
	case l.Open != nil:
		whole = l.Open.Duration
		length = time.Duration(callsOfBlock / l.Open.Rate * float64(time.Second))
	case l.Closed != nil && l.Closed.Duration > 0:
		whole = l.Closed.Duration
		length = callsOfBlock * seen.gap(l)
	}
	count := divided(whole, min(max(length, minBlock), maxBlock))
	if calls := callsOf(l); calls > 0 {
		count = min(count, max(1, calls/max(usersOf(l), callsOfBlock))) // each user has a call in each block
	}
	return count
}

// divided returns how many blocks of a length a load has, at least one.
func divided(whole, length time.Duration) int {
	return min(max(1, int((whole+length/2)/length)), maxBlocks)
}

// mostBlocks returns into how many blocks a load of which a part has been seen can be divided at most. Loads in a cell may
// differ, and all are divided into as many blocks.
func mostBlocks(l experiment.Load, seen part) int {
	calls, most := callsOf(l), maxBlocks
	if l.Burst > 0 {
		return 1 // its calls are due at the same time
	}
	if calls > 0 {
		most = max(1, min(most, calls/usersOf(l))) // each user has a call in each block
	}
	if l.Closed != nil && l.Closed.Duration > 0 && seen.calls > 0 {
		most = min(most, divided(l.Closed.Duration, max(minBlock, time.Duration(callsOfUser*l.Closed.Users)*seen.gap(l))))
	}
	return most
}

// rehearsals returns the number of blocks into which a load is divided for its rehearsal, which runs the first
// of them.
func rehearsals(l experiment.Load) int {
	if callsOf(l) == 0 {
		return blockCount(l, part{})
	}
	if l.Burst > 0 {
		return 1
	}
	const most = 20
	return max(1, min(most, callsOf(l)/usersOf(l)))
}

// callsOf returns the number of calls of a load; 0: the number is not fixed.
func callsOf(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Sequence > 0:
		return l.Sequence
	case l.Closed != nil:
		return l.Closed.Calls
	}
	return 0
}

func usersOf(l experiment.Load) int {
	if l.Closed != nil {
		return l.Closed.Users
	}
	return 1
}

// blockOf returns block i (from 0) of the n blocks of a load.
func blockOf(whole pace.Spec, i, n int) pace.Spec {
	switch {
	case whole.Closed != nil:
		closed := *whole.Closed
		calls := closed.Calls
		closed.Calls = calls*uint64(i+1)/uint64(n) - calls*uint64(i)/uint64(n)
		closed.Duration /= time.Duration(n)
		if n > 1 {
			closed.Ramp = closed.Think // in the middle of a load, users who pause do not call at the same time
		}
		return pace.Spec{Closed: &closed}
	case whole.Rate != nil:
		rate := *whole.Rate
		rate.Duration /= time.Duration(n)
		if !rate.Poisson { // otherwise a block that is no multiple of the time between calls would have a call too many
			const rounding = 1e-6 // a call on the border of two blocks is the first of the second
			before := float64(i) * rate.Duration.Seconds() * rate.PerSecond
			if rate.Phase = math.Ceil(before-rounding) - before + rounding; rate.Phase <= 2*rounding {
				rate.Phase = 0
			}
		}
		rate.Seed = experiment.DeriveSeed(rate.Seed+uint64(i), "block")
		return pace.Spec{Rate: &rate}
	}
	return whole
}

// turns is the random order of arms in the cycles of a cell. It is balanced: each second cycle has the
// order of the one before it in reverse, so that each arm has the same mean place.
type turns struct {
	random *rand.Rand
	arms   int
	last   []int // nil: the next order is new
}

func newTurns(seed uint64, arms int) *turns {
	return &turns{random: rand.New(rand.NewPCG(seed, 1)), arms: arms}
}

// next returns the places of the arms in the next cycle: the indices of the arms in their order.
func (t *turns) next() []int {
	if t.last != nil {
		order := slices.Clone(t.last)
		slices.Reverse(order)
		t.last = nil
		return order
	}
	t.last = t.random.Perm(t.arms)
	return t.last
}

// wholeTime estimates how long a load with a fixed number of calls takes; 0: the number of calls is not fixed, or the
// part has none.
func (p part) wholeTime(l experiment.Load) time.Duration {
	whole := callsOf(l)
	if whole == 0 || p.calls == 0 {
		return 0
	}
	return time.Duration(math.Min(float64(p.took)*float64(whole)/float64(p.calls), math.MaxInt64/4))
}

// gap estimates the mean time between two calls of a closed loop, of any of its users, by its rehearsal; 0: not known.
func (p part) gap(l experiment.Load) time.Duration {
	if p.calls == 0 {
		return 0
	}
	took := p.took
	if callsOf(l) == 0 {
		took = max(took, l.Closed.Duration/time.Duration(rehearsals(l)))
	}
	return max(took/time.Duration(p.calls), l.Closed.Think/time.Duration(l.Closed.Users)) // in a short part no user has paused
}
