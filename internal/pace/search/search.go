// Package search searches for the highest rate at which a system meets an objective. It returns
// the rate and duration of the next probe and records the outcome. It has no clock and runs
// nothing itself. docs/method/search.md explains the method.
package search

import (
	"math"
	"time"
)

// MaxProbes limits the probes of a search.
const MaxProbes = 15

const (
	// shorter is how many short probes take as long as one of full length.
	shorter = 4
	// wide is how many steps of the precision the bracket of the short probes may have.
	wide = 4
)

// Plan is what to search for.
type Plan struct {
	From, To float64 // calls/s, From < To
	// Start is the first rate to try; 0: From. Searches with different starts try different rates,
	// so that the width of the bracket shows in the spread of their results.
	Start float64
	// Precision limits the ratio of the failing rate to the holding one, less 1: 0.02.
	Precision float64
	Duration  time.Duration // of a full-length probe
}

// Probe is a rate to try.
type Probe struct {
	Rate     float64 // calls/s
	Duration time.Duration
	Full     bool // a short probe only shows where to look
}

// Outcome is the result of a probe.
type Outcome int

// The outcomes of a probe.
const (
	Held    Outcome = iota // the objective was met
	Failed                 // the objective was not met
	Limited                // the load generator could not make the load
)

// Search is a search in progress.
type Search struct {
	plan  Plan
	seen  []observation
	tries int
	again *Probe // to repeat: the generator limited it
}

// New starts a search.
func New(p Plan) *Search { return &Search{plan: p} }

// Record records the outcome of the probe that [Search.Next] returned. A full-length probe that
// the load generator limited is repeated once.
func (s *Search) Record(p Probe, o Outcome) {
	s.tries++
	if o == Limited && p.Full && s.again == nil {
		s.again = &p
		return
	}
	s.again = nil
	s.seen = append(s.seen, observation{p, o})
}

// Next returns the next probe; false: the search is over.
func (s *Search) Next() (Probe, bool) {
	left := MaxProbes - s.tries
	if left == 0 {
		return Probe{}, false
	}
	if s.again != nil {
		return *s.again, true
	}
	if len(s.seen) == 0 {
		return s.short(max(s.plan.From, min(s.plan.Start, s.plan.To))), true
	}
	g := s.gap()
	if g.held == nil || g.bad == nil {
		return s.bracket(g)
	}
	return s.narrow(g, left)
}

// bracket is the next probe while one side of the gap is not known.
func (s *Search) bracket(g gap) (Probe, bool) {
	switch {
	case g.held == nil && g.bad.Rate > s.plan.From:
		return s.short(s.plan.From), true
	case g.held == nil:
		return s.full(s.plan.From), !g.bad.Full
	case g.held.Rate >= s.plan.To:
		return s.full(s.plan.To), !g.held.Full
	case s.overruled(Failed) > 0:
		return s.full(min(s.plan.To, g.held.Rate*s.stride(Failed))), true
	}
	return s.short(min(s.plan.To, s.leap(g.held.Rate))), true
}

// narrow is the next probe between two sides, with so many left: short ones to where
// both are near, then both sides at full length, then in between.
func (s *Search) narrow(g gap, left int) (Probe, bool) {
	near := g.near(s.plan)
	switch {
	case near && g.unsure() == 0:
		return Probe{}, false
	case g.unsure() == 2 && g.ratio() > math.Pow(1+s.plan.Precision, wide) && left > 2:
		return s.short(math.Sqrt(g.held.Rate * g.bad.Rate)), true
	case !g.held.Full && s.overruled(Held) == 0:
		return s.full(g.held.Rate), true
	case !g.held.Full:
		return s.full(max(s.plan.From, g.bad.Rate/s.stride(Held))), true
	case !g.bad.Full && s.overruled(Failed) == 0:
		return s.full(g.bad.Rate), true
	case !g.bad.Full:
		return s.full(min(s.plan.To, g.held.Rate*s.stride(Failed))), true
	}
	return s.full(math.Sqrt(g.held.Rate * g.bad.Rate)), true
}

func (s *Search) full(rate float64) Probe { return Probe{rate, s.plan.Duration, true} }

func (s *Search) short(rate float64) Probe { return Probe{rate, s.plan.Duration / shorter, false} }

// leap squares the factor with each short probe that held: 2, 4, 16, 256 times the previous rate.
func (s *Search) leap(rate float64) float64 {
	return rate * math.Exp2(math.Exp2(float64(len(s.seen)-1)))
}

// stride is a factor that grows with each full-length probe that contradicts short probes of an
// outcome, since the size of their error is not known.
func (s *Search) stride(wrong Outcome) float64 {
	return math.Pow(1+s.plan.Precision, math.Exp2(float64(s.overruled(wrong))))
}
