package search

import "math"

// End is why a search is over.
type End string

// The ends of a search.
const (
	Found     End = "found"      // the bracket is as narrow as asked
	UsedUp    End = "used up"    // it is wider, or one side is not known: there were no more probes
	ToHolds   End = "to holds"   // even the highest rate holds
	FromFails End = "from fails" // not even the lowest rate holds
	Generator End = "generator"  // above what holds, the generator was the limit
)

// Bracket is what full-length probes showed.
type Bracket struct {
	Holds float64 // calls/s; 0: no rate held
	Fails float64 // calls/s; 0: none failed that the generator could make
	End   End
}

// Rate is the estimate in calls/s: the middle of the bracket, for ratios; 0: there is
// none, since one side is not known.
func (b Bracket) Rate() float64 { return math.Sqrt(b.Holds * b.Fails) }

// Found is the bracket so far.
func (s *Search) Found() Bracket {
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
		b.End = Generator
	case bad && g.bad.Rate <= s.plan.From:
		b.End = FromFails
	case b.Holds >= s.plan.To:
		b.End = ToHolds
	case b.Rate() > 0 && g.near(s.plan):
		b.End = Found
	default:
		b.End = UsedUp
	}
	return b
}
