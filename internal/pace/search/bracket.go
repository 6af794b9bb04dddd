package search

import "math"

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
