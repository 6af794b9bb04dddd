package verdict

import (
	"fmt"
	"math"
)

// Outcome is the result of testing a ratio against a [Bound].
type Outcome string

const (
	Held   Outcome = "held"            // the whole interval meets the bound
	Failed Outcome = "failed"          // no part of the interval meets it
	Open   Outcome = "not established" // the interval spans the bound, or there is none
)

// Bound is a condition on a ratio: below Limit, or above it.
type Bound struct {
	Over  bool
	Equal bool // the limit itself is allowed
	Limit float64
}

func (b Bound) holds(ratio float64) bool {
	switch {
	case ratio == b.Limit:
		return b.Equal
	case b.Over:
		return ratio > b.Limit
	}
	return ratio < b.Limit
}

// OfInterval tests the bound on a ratio with a confidence interval. Held and Failed are wrong only if the interval
// misses the true ratio.
func (b Bound) OfInterval(ci [2]float64) Outcome {
	switch low, high := b.holds(ci[0]), b.holds(ci[1]); {
	case low && high:
		return Held
	case !low && !high:
		return Failed
	}
	return Open
}

// OfRuns tests the bound on the ratio of two runs that [CompareRuns] returns. Held and Failed are wrong
// only if the interval misses the true ratio. The reason, for Open only, says what is missing and how many
// rounds would probably suffice.
func (b Bound) OfRuns(before, after []float64, o Options) (v Verdict, outcome Outcome, reason string) {
	o = o.withDefaults()
	v = CompareRuns(before, after, o)
	u, err := unpairedOf(before, after)
	if err != nil || v.Rounds < MinRounds {
		return v, Open, v.Reason
	}
	if outcome = b.OfInterval(v.CI); outcome != Open {
		return v, outcome, ""
	}
	reason = fmt.Sprintf("the ratio may be on either side of %g", b.Limit)
	if n := u.narrowTo(math.Abs(u.difference()-math.Log(b.Limit)), o); n <= maxAdvisedRounds {
		where := "in each of two new runs"
		if o.Runs {
			where = "on each side"
		}
		return v, Open, fmt.Sprintf("%s: about %d %s %s would settle it, if the noise stays", reason, n, o.units(), where)
	}
	return v, Open, reason + ", and is too close to it to be settled by more " + o.units()
}
