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
	// shortProbes is how many short probes take as long as one full-length probe.
	shortProbes = 4
	// maxShortSteps is the largest bracket that short probes leave, in steps of the precision.
	maxShortSteps = 4
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
	Full     bool // false: a short probe, which only shows where to look
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
	again *Probe // to repeat, because the generator limited it; nil: none
}

// New starts a search.
func New(p Plan) *Search { return &Search{plan: p} }

// Record records the outcome of the probe that [Search.Next] returned. A full-length probe that
// the load generator limited is repeated once.
func (s *Search) Record(probe Probe, outcome Outcome) {
	s.tries++
	if outcome == Limited && probe.Full && s.again == nil {
		s.again = &probe
		return
	}
	s.again = nil
	s.seen = append(s.seen, observation{probe, outcome})
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
	known := s.gap()
	if known.held == nil || known.bad == nil {
		return s.bracket(known)
	}
	return s.narrow(known, left)
}

// bracket returns the next probe while one side of the gap is not known.
func (s *Search) bracket(known gap) (Probe, bool) {
	switch {
	case known.held == nil && known.bad.Rate > s.plan.From:
		return s.short(s.plan.From), true
	case known.held == nil:
		return s.full(s.plan.From), !known.bad.Full
	case known.held.Rate >= s.plan.To:
		return s.full(s.plan.To), !known.held.Full
	case s.overruled(Failed) > 0:
		return s.full(min(s.plan.To, known.held.Rate*s.stride(Failed))), true
	}
	return s.short(min(s.plan.To, s.leap(known.held.Rate))), true
}

// narrow returns the next probe between two known sides. Short probes narrow the gap first, then
// full-length probes confirm both sides, then full-length probes halve the gap. left is the number
// of probes that are left.
func (s *Search) narrow(known gap, left int) (Probe, bool) {
	near := known.near(s.plan)
	switch {
	case near && known.unsure() == 0:
		return Probe{}, false
	case known.unsure() == 2 && known.ratio() > math.Pow(1+s.plan.Precision, maxShortSteps) && left > 2:
		return s.short(math.Sqrt(known.held.Rate * known.bad.Rate)), true
	case !known.held.Full && s.overruled(Held) == 0:
		return s.full(known.held.Rate), true
	case !known.held.Full:
		return s.full(max(s.plan.From, known.bad.Rate/s.stride(Held))), true
	case !known.bad.Full && s.overruled(Failed) == 0:
		return s.full(known.bad.Rate), true
	case !known.bad.Full:
		return s.full(min(s.plan.To, known.held.Rate*s.stride(Failed))), true
	}
	return s.full(math.Sqrt(known.held.Rate * known.bad.Rate)), true
}

func (s *Search) full(rate float64) Probe { return Probe{rate, s.plan.Duration, true} }

func (s *Search) short(rate float64) Probe {
	return Probe{rate, s.plan.Duration / shortProbes, false}
}

// leap returns the next rate to try above a rate that held. It squares the factor with each short
// probe: 2, 4, 16, 256 times the previous rate.
func (s *Search) leap(rate float64) float64 {
	return rate * math.Exp2(math.Exp2(float64(len(s.seen)-1)))
}

// stride returns a factor between two rates to try. It grows with each full-length probe that
// contradicts short probes of an outcome, since the size of their error is not known.
func (s *Search) stride(wrong Outcome) float64 {
	return math.Pow(1+s.plan.Precision, math.Exp2(float64(s.overruled(wrong))))
}

// End is why a search is over.
type End string

// The ends of a search.
const (
	Found            End = "found"       // the bracket has the precision
	OutOfProbes      End = "used up"     // all probes are used: the bracket is wider, or one side is not known
	HighestHolds     End = "to holds"    // even the highest rate holds
	LowestFails      End = "from fails"  // not even the lowest rate holds
	Interrupted      End = "interrupted" // the run ended first
	GeneratorLimited End = "generator"   // above the rate that holds, the load generator was the bottleneck
)

// Bracket is the result of the full-length probes.
type Bracket struct {
	Holds float64 // calls/s; 0: no rate held
	Fails float64 // calls/s; 0: no rate that the generator reached failed
	End   End
}

// Rate is the estimate in calls/s, the geometric middle of the bracket; 0: one side is not known.
func (b Bracket) Rate() float64 { return math.Sqrt(b.Holds * b.Fails) }

// Bracket returns the bracket so far.
func (s *Search) Bracket() Bracket {
	known := s.gap()
	var bracket Bracket
	if known.held != nil && known.held.Full {
		bracket.Holds = known.held.Rate
	}
	bad := known.bad != nil && known.bad.Full
	if bad && known.bad.Outcome == Failed {
		bracket.Fails = known.bad.Rate
	}
	switch {
	case bad && known.bad.Outcome == Limited:
		bracket.End = GeneratorLimited
	case bad && known.bad.Rate <= s.plan.From:
		bracket.End = LowestFails
	case bracket.Holds >= s.plan.To:
		bracket.End = HighestHolds
	case bracket.Rate() > 0 && known.near(s.plan):
		bracket.End = Found
	default:
		bracket.End = OutOfProbes
	}
	return bracket
}

// observation is a probe with its outcome.
//
// A full-length probe overrules short probes. Two full-length probes never contradict each other,
// since each rate to try is between the rates that held and the rates that failed.
type observation struct {
	Probe
	Outcome
}

// gap lies between a rate that holds and a higher rate that fails; nil: no such rate is known.
type gap struct{ held, bad *observation }

func (g gap) ratio() float64 { return g.bad.Rate / g.held.Rate }

// near reports whether the ratio is within the precision, except for rounding.
func (g gap) near(p Plan) bool { return g.ratio() <= (1+p.Precision)*(1+1e-9) }

// unsure counts the sides known from a short probe only.
func (g gap) unsure() (n int) {
	for _, end := range []*observation{g.held, g.bad} {
		if end != nil && !end.Full {
			n++
		}
	}
	return n
}

// gap returns the rates between which the system stops meeting the objective. A short probe counts
// for a side unless a full-length probe has shown that side and full-length probes contradicted
// short probes.
func (s *Search) gap() gap {
	held := s.highest(func(p observation) bool { return p.Full && p.Outcome == Held })
	bad := s.lowest(func(p observation) bool { return p.Full && p.Outcome != Held })
	known := gap{held, bad}
	if held == nil || s.overruled(Held) == 0 {
		known.held = s.highest(func(p observation) bool { return p.Outcome == Held && (p.Full || bad == nil || p.Rate < bad.Rate) })
	}
	if bad == nil || s.overruled(Failed) == 0 {
		known.bad = s.lowest(func(p observation) bool { return p.Outcome != Held && (p.Full || held == nil || p.Rate > held.Rate) })
	}
	return known
}

// overruled counts the full-length probes that contradict short probes of an outcome. A probe of
// the lowest rate says nothing about higher rates.
func (s *Search) overruled(outcome Outcome) (n int) {
	if outcome == Held {
		top := s.highest(func(p observation) bool { return !p.Full && p.Outcome == Held })
		return s.count(func(p observation) bool { return top != nil && p.Full && p.Outcome != Held && p.Rate <= top.Rate })
	}
	bottom := s.lowest(func(p observation) bool { return !p.Full && p.Outcome != Held && p.Rate > s.plan.From })
	return s.count(func(p observation) bool { return bottom != nil && p.Full && p.Outcome == Held && p.Rate >= bottom.Rate })
}

func (s *Search) count(keep func(observation) bool) (n int) {
	for _, p := range s.seen {
		if keep(p) {
			n++
		}
	}
	return n
}

func (s *Search) highest(keep func(observation) bool) *observation {
	return s.first(keep, func(a, b observation) bool { return a.Rate > b.Rate })
}

func (s *Search) lowest(keep func(observation) bool) *observation {
	return s.first(keep, func(a, b observation) bool { return a.Rate < b.Rate })
}

// first returns the probe that precedes all others. Of two probes at the same rate it prefers the
// full-length probe.
func (s *Search) first(keep func(observation) bool, before func(a, b observation) bool) (best *observation) {
	for i, p := range s.seen {
		if keep(p) && (best == nil || before(p, *best) || p.Rate == best.Rate && p.Full) {
			best = &s.seen[i]
		}
	}
	return best
}
