// Package pace says when calls are due. Its functions are pure: they depend on elapsed time and
// counts and have no clock.
package pace

import (
	"errors"
	"math"
	"time"
)

// Pace is the plan of a load.
type Pace interface {
	// Next returns when call n (from 0) is due, as time since the start of the load. It returns
	// false when no more calls are due.
	//
	// For an open pace, after is when call n-1 was due (0 for the first call). For a closed pace,
	// after is when the calling user received the previous response, or for the user's first call
	// the result of First.
	Next(n uint64, after time.Duration) (due time.Duration, more bool)
	// InFlight is the number of calls that may be in flight at once: the users of a closed pace,
	// the limit of an open one.
	InFlight() int
	// Open reports whether calls are due at times that do not depend on responses.
	Open() bool
	// First returns the value of after for the first call of a user (from 0) of a closed pace: minus
	// the time at which the user starts.
	First(user int) time.Duration
	// Window is the time from the start in which calls are due. 0: calls are due until their number is
	// reached, however long that takes.
	Window() time.Duration
}

// Spec is a pace in JSON for another process: exactly one field is set.
type Spec struct {
	Burst  *Burst  `json:"burst,omitempty"`
	Closed *Closed `json:"closed,omitempty"`
	Rate   *Rate   `json:"rate,omitempty"`
}

// Pace returns the pace that is set.
func (s Spec) Pace() (Pace, error) {
	switch {
	case s.Burst != nil:
		return *s.Burst, nil
	case s.Closed != nil:
		return *s.Closed, nil
	case s.Rate != nil:
		return *s.Rate, nil
	}
	return nil, errors.New("the load has no pace: set burst, closed or open")
}

// Sequence is n calls, each due when the previous call is answered.
func Sequence(n uint64) Closed { return Closed{Users: 1, Calls: n} }

// Burst is a number of calls that are all due at the start.
type Burst struct {
	Calls int `json:"calls"`
}

func (b Burst) Next(n uint64, _ time.Duration) (time.Duration, bool) { return 0, n < uint64(b.Calls) }
func (b Burst) InFlight() int                                        { return b.Calls }
func (b Burst) Open() bool                                           { return true }
func (b Burst) First(int) time.Duration                              { return 0 }
func (b Burst) Window() time.Duration                                { return 0 }

// Closed is a number of virtual users with one call at a time each, who start evenly over Ramp. The
// load ends after Calls calls, or when the next call would be due at Duration or later. A limit of
// 0 does not apply.
type Closed struct {
	Users    int           `json:"users"`
	Ramp     time.Duration `json:"ramp,omitempty"`
	Think    time.Duration `json:"think,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	Calls    uint64        `json:"calls,omitempty"`
}

func (c Closed) Next(n uint64, answered time.Duration) (time.Duration, bool) {
	due := answered + c.Think
	if answered <= 0 {
		due = -answered
	}
	if c.Calls > 0 && n >= c.Calls || c.Duration > 0 && due >= c.Duration {
		return 0, false
	}
	return due, c.Calls > 0 || c.Duration > 0
}

func (c Closed) InFlight() int { return c.Users }
func (c Closed) Open() bool    { return false }

func (c Closed) Window() time.Duration {
	if c.Calls > 0 {
		return 0
	}
	return c.Duration
}

func (c Closed) First(user int) time.Duration {
	return -time.Duration(float64(c.Ramp) * float64(user) / float64(c.Users))
}

// Rate is an open loop: PerSecond calls are due every second until Duration. A call that is due
// while Max calls are in flight is dropped and counted as dropped.
type Rate struct {
	PerSecond float64       `json:"per_second"` // of all callers that share the rate
	Duration  time.Duration `json:"duration"`
	Max       int           `json:"max"`
	// Sharers is how many callers share the rate. This caller makes every Sharers-th call from call
	// ShareIndex (from 0) on. 0: one caller makes all calls.
	Sharers    uint64 `json:"of,omitempty"`
	ShareIndex uint64 `json:"nth,omitempty"`
	// Phase is when the first call of all callers is due, from 0 to 1 times the time between two calls. With Poisson it has
	// no effect.
	Phase float64 `json:"phase,omitempty"`
	// Poisson spaces calls at random (exponential gaps drawn from Seed) instead of evenly.
	Poisson bool   `json:"poisson,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
}

func (r Rate) Next(n uint64, before time.Duration) (time.Duration, bool) {
	sharers := max(r.Sharers, 1)
	due := time.Duration((float64(n*sharers+r.ShareIndex) + r.Phase) * float64(time.Second) / r.PerSecond) // from n, so that rounding errors do not add up
	if r.Poisson {
		due = before + time.Duration(exponential(r.Seed, n)*float64(sharers)*float64(time.Second)/r.PerSecond)
	}
	return due, due >= 0 && due < r.Duration // negative: in over 292 years
}

func (r Rate) InFlight() int { return r.Max }
func (r Rate) Open() bool    { return true }

func (r Rate) First(int) time.Duration { return 0 }

func (r Rate) Window() time.Duration { return r.Duration }

// exponential returns draw n of a stream of exponential variates of mean 1. The random bits are
// those of SplitMix64 (Steele, Lea and Flood 2014), whose only state is its counter.
func exponential(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	uniform := float64(z>>11) / (1 << 53) // [0, 1)
	return -math.Log1p(-uniform)
}

// Share returns the part of a load that caller i (from 0) of n makes. Users, the calls of a burst
// and the limit in flight are divided evenly, with the remainder to the first callers. The calls of
// a closed loop are divided in proportion to the users. Of a rate, each caller makes every n-th
// call. With Poisson, each caller has its own seed, since the sum of independent Poisson processes
// is a Poisson process. A load needs at least as many users as callers and as many calls as users.
func (s Spec) Share(i, n int) Spec {
	switch {
	case s.Burst != nil:
		return Spec{Burst: &Burst{Calls: part(s.Burst.Calls, i, n)}}
	case s.Closed != nil:
		closed := *s.Closed
		closed.Users = part(closed.Users, i, n)
		before, all := uint64(i*(s.Closed.Users/n)+min(i, s.Closed.Users%n)), uint64(s.Closed.Users)
		closed.Calls = s.Closed.Calls*(before+uint64(closed.Users))/all - s.Closed.Calls*before/all
		return Spec{Closed: &closed}
	case s.Rate != nil:
		rate := *s.Rate
		rate.Max = part(rate.Max, i, n)
		rate.Sharers, rate.ShareIndex = uint64(n), uint64(i)
		rate.Seed += uint64(i) * 0xd1b54a32d192ed03 // an odd number other than the step of the stream
		return Spec{Rate: &rate}
	}
	return s
}

// part returns the i-th (from 0) of n parts of a whole.
func part(whole, i, n int) int {
	share := whole / n
	if i < whole%n {
		share++
	}
	return share
}
