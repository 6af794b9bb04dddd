package search

import "math"

// End is why a search is over.
type End string

// The ends of a search.
const (
	Found            End = "found"      // the bracket has the precision
	OutOfProbes      End = "used up"    // no more probes: the bracket is wider, or one side is not known
	HighestHolds     End = "to holds"   // even the highest rate holds
	LowestFails      End = "from fails" // not even the lowest rate holds
	GeneratorLimited End = "generator"  // above the rate that holds, the load generator was the limit
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
	g := s.gap()
	var b Bracket
	if g.held != nil && g.held.Full {
		b.Holds = g.held.Rate
	}
	bad := g.bad != nil && g.bad.Full
	if bad && g.bad.Outcome == Failed {
		b.Fails = g.bad.Rate
	}
	switch {
	case bad && g.bad.Outcome == Limited:
		b.End = GeneratorLimited
	case bad && g.bad.Rate <= s.plan.From:
		b.End = LowestFails
	case b.Holds >= s.plan.To:
		b.End = HighestHolds
	case b.Rate() > 0 && g.near(s.plan):
		b.End = Found
	default:
		b.End = OutOfProbes
	}
	return b
}

// observation is a probe with its outcome.
//
// A full-length probe overrules short ones. Two full-length probes never contradict each other,
// since each is tried between the rates that held and those that failed.
type observation struct {
	Probe
	Outcome
}

// gap lies between a rate that holds and a higher one that fails; nil: none is known.
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

// gap returns where the objective stops being met. Once full-length probes contradicted short ones
// of an outcome, short ones no longer move a side that a full-length probe has shown.
func (s *Search) gap() gap {
	held := s.highest(func(p observation) bool { return p.Full && p.Outcome == Held })
	bad := s.lowest(func(p observation) bool { return p.Full && p.Outcome != Held })
	g := gap{held, bad}
	if held == nil || s.overruled(Held) == 0 {
		g.held = s.highest(func(p observation) bool { return p.Outcome == Held && (p.Full || bad == nil || p.Rate < bad.Rate) })
	}
	if bad == nil || s.overruled(Failed) == 0 {
		g.bad = s.lowest(func(p observation) bool { return p.Outcome != Held && (p.Full || held == nil || p.Rate > held.Rate) })
	}
	return g
}

// overruled counts the full-length probes that contradict short ones of an outcome. Probes of the
// lowest rate say nothing about higher ones.
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

// first returns the probe that comes before all others; of two at the same rate, the full-length
// one.
func (s *Search) first(keep func(observation) bool, before func(a, b observation) bool) (best *observation) {
	for i, p := range s.seen {
		if keep(p) && (best == nil || before(p, *best) || p.Rate == best.Rate && p.Full) {
			best = &s.seen[i]
		}
	}
	return best
}
