// Package pace says when calls are due: pure functions of elapsed time and count,
// with no clock of their own.
package pace

import (
	"errors"
	"math"
	"time"
)

// Pace is the plan of a load.
type Pace interface {
	// Next returns when call n (from 0) is due, as time since the start of the load,
	// and false when no more calls are due.
	//
	// For an open pace, after is when call n-1 was due (0 for the first). For a closed
	// one it is when the user who will make the call got the answer before (0 for a
	// user's first).
	Next(n uint64, after time.Duration) (due time.Duration, more bool)
	// InFlight is the number of calls that may be under way at once: the users of a
	// closed pace, the bound of an open one.
	InFlight() int
	// Open says whether calls are due whatever the answers do.
	Open() bool
	// First is what Next is told before the first call of a user (from 0) of a closed pace:
	// minus the time at which he begins.
	First(user int) time.Duration
}

// Spec is a pace as it crosses a process: exactly one field is set.
type Spec struct {
	Burst  *Burst  `json:"burst,omitempty"`
	Closed *Closed `json:"closed,omitempty"`
	Rate   *Rate   `json:"rate,omitempty"`
}

// Pace returns the one that is set.
func (s Spec) Pace() (Pace, error) {
	switch {
	case s.Burst != nil:
		return *s.Burst, nil
	case s.Closed != nil:
		return *s.Closed, nil
	case s.Rate != nil:
		return *s.Rate, nil
	}
	return nil, errors.New("a load has to name its pace: burst, closed or open")
}

// Sequence is n calls, each due when the one before it is answered.
func Sequence(n uint64) Closed { return Closed{Users: 1, Calls: n} }

// Burst is that many calls, all due at the start.
type Burst struct {
	Calls int `json:"calls"`
}

func (b Burst) Next(n uint64, _ time.Duration) (time.Duration, bool) { return 0, n < uint64(b.Calls) }
func (b Burst) InFlight() int                                        { return b.Calls }
func (b Burst) Open() bool                                           { return true }
func (b Burst) First(int) time.Duration                              { return 0 }

// Closed is virtual users, each with one call at a time, who begin evenly over Ramp. It ends
// after Calls calls or when the next would be due at Duration or later; a zero does not
// bound it.
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

func (c Closed) First(user int) time.Duration {
	return -time.Duration(float64(c.Ramp) * float64(user) / float64(c.Users))
}

// Rate is an open loop: PerSecond calls are due every second until Duration. A call
// that is due while Max are under way is dropped, and counted as such.
type Rate struct {
	PerSecond float64       `json:"per_second"` // of all who share it
	Duration  time.Duration `json:"duration"`
	Max       int           `json:"max"`
	// Of is how many share the rate, and Nth (from 0) which of them this is: it makes
	// every Of-th call from the Nth on. 0: nobody shares it.
	Of  uint64 `json:"of,omitempty"`
	Nth uint64 `json:"nth,omitempty"`
	// Poisson spaces calls at random (exponential gaps drawn from Seed) instead of evenly.
	Poisson bool   `json:"poisson,omitempty"`
	Seed    uint64 `json:"seed,omitempty"`
}

func (r Rate) Next(n uint64, before time.Duration) (time.Duration, bool) {
	of := max(r.Of, 1)
	due := time.Duration(float64(n*of+r.Nth) * float64(time.Second) / r.PerSecond) // from n, so that no error adds up
	if r.Poisson {
		due = before + time.Duration(exponential(r.Seed, n)*float64(of)*float64(time.Second)/r.PerSecond)
	}
	return due, due < r.Duration
}

func (r Rate) InFlight() int { return r.Max }
func (r Rate) Open() bool    { return true }

func (r Rate) First(int) time.Duration { return 0 }

// exponential is draw n of a stream of exponential variates of mean 1: the bits are
// SplitMix64 (Steele, Lea and Flood 2014), which needs no state but its counter.
func exponential(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	uniform := float64(z>>11) / (1 << 53) // [0, 1)
	return -math.Log1p(-uniform)
}
