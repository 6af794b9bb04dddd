// Package search looks for the highest rate at which a system holds an objective: it
// says which rate to try next and for how long, and is told how that went. It has no
// clock and does nothing itself. docs/method/search.md says why it goes this way.
package search

import (
	"math"
	"time"
)

// MaxProbes is the most that a search tries.
const MaxProbes = 15

const (
	// shorter is how many short probes take as long as one of full length.
	shorter = 4
	// wide is how many steps of the precision the bracket of the short probes may have.
	wide = 4
)

// Plan is what to look for.
type Plan struct {
	From, To float64 // calls/s, From < To
	// Start is the first rate to try; 0: From. Searches that start elsewhere try other
	// rates, so that the width of the bracket is in the spread of what they find.
	Start float64
	// Precision is by how much the rate that fails may exceed the one that holds: 0.02.
	Precision float64
	Duration  time.Duration // of a full-length probe
}

// Probe is a rate to try.
type Probe struct {
	Rate     float64 // calls/s
	Duration time.Duration
	Full     bool // else it is short, and only says where to look
}

// Outcome is what a probe showed.
type Outcome int

// The outcomes of a probe.
const (
	Held    Outcome = iota // the objective
	Failed                 // the objective did not hold
	Limited                // neither: the generator could not make the load
)

// Search is a search under way.
type Search struct {
	plan  Plan
	seen  []sight
	tries int
	again *Probe // at which the generator stumbled, perhaps by chance
}

// New begins a search.
func New(p Plan) *Search { return &Search{plan: p} }

// Saw takes the outcome of the probe that [Search.Next] asked for. One of full length
// that the generator limited is made once more.
func (s *Search) Saw(p Probe, o Outcome) {
	s.tries++
	if o == Limited && p.Full && s.again == nil {
		s.again = &p
		return
	}
	s.again = nil
	s.seen = append(s.seen, sight{p, o})
}

// Next is the rate to try next; false: the search is over.
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
	case !g.held.Full && (near || left == 1 || s.overruled(Held) == 0):
		return s.full(g.held.Rate), true
	case !g.held.Full:
		return s.full(max(g.held.Rate, g.bad.Rate/s.stride(Held))), true
	case !g.bad.Full && (near || left == 1 || s.overruled(Failed) == 0):
		return s.full(g.bad.Rate), true
	case !g.bad.Full:
		return s.full(min(g.bad.Rate, g.held.Rate*s.stride(Failed))), true
	}
	return s.full(math.Sqrt(g.held.Rate * g.bad.Rate)), true
}

func (s *Search) full(rate float64) Probe { return Probe{rate, s.plan.Duration, true} }

func (s *Search) short(rate float64) Probe { return Probe{rate, s.plan.Duration / shorter, false} }

// leap squares the factor with each short probe that held: 2, 4, 16, 256 times the
// rate before.
func (s *Search) leap(rate float64) float64 {
	return rate * math.Exp2(math.Exp2(float64(len(s.seen)-1)))
}

// stride is a factor that grows with each full-length probe that contradicts short ones
// of an outcome: they were wrong, and nobody knows by how much.
func (s *Search) stride(wrong Outcome) float64 {
	return math.Pow(1+s.plan.Precision, math.Exp2(float64(s.overruled(wrong))))
}
