// Package search searches for the highest rate at which a system meets an objective. It returns
// the rate and duration of the next probe and records the outcome. It has no clock and runs
// nothing itself. docs/method/search.md explains the method.
package search

import "math"

// MaxProbes limits the probes of a search.
const MaxProbes = 20

const (
	// shortProbes is how many short probes take as long as one full-length probe.
	shortProbes = 4
	// maxShort is the number of short probes after which a search continues with full-length probes, unless all held.
	maxShort = 7
	// firstLeap is the factor from the first rate to the second. Each further factor is twice the one before, until a probe fails.
	firstLeap = 3
	// Short probes end when their limit is known to maxShortSteps steps of the precision with probability
	// shortProbability. The search ends when the capacity is known to maxSteps steps with probability
	// fullProbability.
	shortProbability, maxShortSteps = 0.9, 4
	fullProbability, maxSteps       = 0.9, 2
	// A full-length probe is near the median: at the quantile 0.5±near. After fewProbes of them it is at
	// 0.5±far while none below the median held or none above it failed.
	near, far, fewProbes = 0.02, 0.4, 3
)

// observation is a probe with its outcome.
type observation struct {
	Probe
	Outcome
}

// Search is a search in progress.
type Search struct {
	plan     Plan
	seen     []observation
	tries    int
	again    *Probe // to repeat, because the generator limited it; nil: none
	believed *belief
}

// New starts a search.
func New(p Plan) *Search {
	p.Start = max(p.From, min(p.Start, p.To))
	return &Search{plan: p, believed: newBelief(p, p.Start)}
}

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
	s.believed.record(probe, outcome == Held)
}

// Next returns the next probe; false: the search is over.
func (s *Search) Next() (Probe, bool) {
	switch {
	case s.tries == MaxProbes:
		return Probe{}, false
	case s.again != nil:
		return *s.again, true
	case len(s.seen) == 0:
		return s.short(s.plan.Start), true
	}
	if !s.seen[len(s.seen)-1].Full {
		if probe, ok := s.nextShort(); ok {
			return probe, true
		}
	}
	return s.nextFull()
}

// nextShort returns the next short probe; false: full-length probes follow. Each probe multiplies the
// rate until one fails. Each later one is at the median of the rates that may be the limit.
func (s *Search) nextShort() (Probe, bool) {
	if held := s.count(func(o observation) bool { return o.Outcome == Held }); held == len(s.seen) {
		last := s.seen[len(s.seen)-1].Rate
		return s.short(last * firstLeap * math.Exp2(float64(len(s.seen)-1))), last < s.plan.To
	}
	limit := s.believed.ofShort()
	rate := limit.median()
	return s.short(rate), len(s.seen) < maxShort && rate > s.plan.From && rate < s.plan.To &&
		!limit.narrow(shortProbability, maxShortSteps, s.plan.Precision)
}

// nextFull returns the next full-length probe; false: the search is over.
func (s *Search) nextFull() (Probe, bool) {
	capacity, precision := s.believed.ofFull(), s.plan.Precision
	middle := capacity.median()
	held, bad := s.sides(middle)
	// How far the rates that held and failed are from the median.
	below, above := math.Inf(1), math.Inf(1)
	if held != nil {
		below = middle / held.Rate
	}
	if bad != nil {
		above = bad.Rate / middle
	}
	narrow := capacity.narrow(fullProbability, maxSteps, precision)
	if narrow && below*above <= (1+precision)*(1+1e-9) || s.outside() {
		return Probe{}, false
	}
	q := near
	if (held == nil || bad == nil) && s.count(func(o observation) bool { return o.Full }) >= fewProbes {
		q = far
	}
	lower, upper := capacity.quantile(0.5-q), capacity.quantile(0.5+q)
	if narrow { // what remains is to confirm the bracket
		half := math.Sqrt(1 + precision)
		lower, upper = min(lower, middle/half), max(upper, middle*half)
	}
	if above > below || held == nil && bad == nil && s.seen[len(s.seen)-1].Outcome == Held {
		return s.full(upper), true
	}
	return s.full(lower), true
}

// outside reports whether the capacity is outside of the range: the highest rate held or the lowest
// failed in a full-length probe.
func (s *Search) outside() bool {
	last := s.seen[len(s.seen)-1]
	return last.Full && (last.Outcome == Held && last.Rate >= s.plan.To || last.Outcome != Held && last.Rate <= s.plan.From)
}

func (s *Search) full(rate float64) Probe { return Probe{s.inRange(rate), s.plan.Duration, true} }

func (s *Search) short(rate float64) Probe {
	return Probe{s.inRange(rate), s.plan.Duration / shortProbes, false}
}

func (s *Search) inRange(rate float64) float64 { return max(s.plan.From, min(rate, s.plan.To)) }

func (s *Search) count(keep func(observation) bool) (n int) {
	for _, o := range s.seen {
		if keep(o) {
			n++
		}
	}
	return n
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

// Bracket is the result of a search.
type Bracket struct {
	Holds float64 // calls/s, of a full-length probe; 0: no rate held
	Fails float64 // calls/s, of a full-length probe; 0: no rate that the generator reached failed
	// Rate is the estimate in calls/s: the median of what the probes leave possible, between Holds and
	// Fails; 0: one side is not known.
	Rate float64
	End  End
}

// Bracket returns the bracket so far.
func (s *Search) Bracket() Bracket {
	capacity := s.believed.ofFull()
	middle := capacity.median()
	held, bad := s.sides(middle)
	if s.tries == MaxProbes && (held == nil || bad == nil) {
		held, bad = s.nearestSides(held, bad)
	}
	var bracket Bracket
	if held != nil {
		bracket.Holds = held.Rate
	}
	if bad != nil && bad.Outcome == Failed {
		bracket.Fails = bad.Rate
	}
	if bracket.Holds > 0 && bracket.Fails > 0 {
		bracket.Rate = max(bracket.Holds, min(middle, bracket.Fails))
	}
	switch {
	case bad != nil && bad.Outcome == Limited:
		bracket.End = GeneratorLimited
	case bad != nil && held == nil && bad.Rate <= s.plan.From:
		bracket.End = LowestFails
	case bracket.Holds >= s.plan.To:
		bracket.End = HighestHolds
	case bracket.Rate > 0 && capacity.narrow(fullProbability, maxSteps, s.plan.Precision):
		bracket.End = Found
	default:
		bracket.End = OutOfProbes
	}
	return bracket
}

// sides returns the full-length probes next to a rate: the highest below it that held and the lowest
// above it that did not; nil: none. The ends of the range count for their side.
func (s *Search) sides(rate float64) (held, bad *observation) {
	for i, o := range s.seen {
		switch {
		case !o.Full:
		case o.Outcome == Held && (o.Rate <= rate || o.Rate >= s.plan.To):
			if held == nil || o.Rate > held.Rate {
				held = &s.seen[i]
			}
		case o.Outcome != Held && (o.Rate >= rate || o.Rate <= s.plan.From):
			if bad == nil || o.Rate < bad.Rate {
				bad = &s.seen[i]
			}
		}
	}
	return held, bad
}

// nearestSides returns the sides next to the rate nearest to the estimate that has both. One side is
// missing if the last probes contradicted those before them.
func (s *Search) nearestSides(held, bad *observation) (_, _ *observation) {
	best := math.Inf(1)
	middle := s.believed.ofFull().median()
	for _, o := range s.seen {
		below, above := s.sides(o.Rate)
		if off := math.Abs(math.Log(o.Rate / middle)); o.Full && below != nil && above != nil && below.Rate < above.Rate && off < best {
			best, held, bad = off, below, above
		}
	}
	return held, bad
}
