package search

// This file weighs what the probes showed: one of full length overrules short ones.
// Two of full length never contradict each other, since each is tried between those
// that held and those that did not.

type sight struct {
	Probe
	Outcome
}

// gap lies between a rate that holds and a higher one that does not; nil: none is known.
type gap struct{ held, bad *sight }

func (g gap) ratio() float64 { return g.bad.Rate / g.held.Rate }

// near says that the sides are within the precision, but for rounding.
func (g gap) near(p Plan) bool { return g.ratio() <= (1+p.Precision)*(1+1e-9) }

// unsure counts the ends that only a short probe stands for.
func (g gap) unsure() (n int) {
	for _, end := range []*sight{g.held, g.bad} {
		if end != nil && !end.Full {
			n++
		}
	}
	return n
}

// gap is where the objective ceases to hold.
func (s *Search) gap() gap {
	held := s.highest(func(p sight) bool { return p.Full && p.Outcome == Held })
	bad := s.lowest(func(p sight) bool { return p.Full && p.Outcome != Held })
	return gap{
		held: s.highest(func(p sight) bool { return p.Outcome == Held && (p.Full || bad == nil || p.Rate < bad.Rate) }),
		bad:  s.lowest(func(p sight) bool { return p.Outcome != Held && (p.Full || held == nil || p.Rate > held.Rate) }),
	}
}

// overruled counts the full-length probes that contradict short ones of an outcome. What
// is found out about the lowest rate says nothing of those above.
func (s *Search) overruled(outcome Outcome) (n int) {
	if outcome == Held {
		top := s.highest(func(p sight) bool { return !p.Full && p.Outcome == Held })
		return s.count(func(p sight) bool { return top != nil && p.Full && p.Outcome != Held && p.Rate <= top.Rate })
	}
	bottom := s.lowest(func(p sight) bool { return !p.Full && p.Outcome != Held && p.Rate > s.plan.From })
	return s.count(func(p sight) bool { return bottom != nil && p.Full && p.Outcome == Held && p.Rate >= bottom.Rate })
}
func (s *Search) count(keep func(sight) bool) (n int) {
	for _, p := range s.seen {
		if keep(p) {
			n++
		}
	}
	return n
}

func (s *Search) highest(keep func(sight) bool) *sight {
	return s.first(keep, func(a, b sight) bool { return a.Rate > b.Rate })
}

func (s *Search) lowest(keep func(sight) bool) *sight {
	return s.first(keep, func(a, b sight) bool { return a.Rate < b.Rate })
}

// first is the one that comes before all others; of two at a rate the one of full length.
func (s *Search) first(keep func(sight) bool, before func(a, b sight) bool) (best *sight) {
	for i, p := range s.seen {
		if keep(p) && (best == nil || before(p, *best) || p.Rate == best.Rate && p.Full) {
			best = &s.seen[i]
		}
	}
	return best
}
