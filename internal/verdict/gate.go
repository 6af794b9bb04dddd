package verdict

import (
	"fmt"
	"math"
)

// Outcome is what a [Bound] makes of a ratio.
type Outcome string

const (
	Held   Outcome = "held"            // the whole interval is within the bound
	Failed Outcome = "failed"          // the whole interval is beyond it
	Open   Outcome = "not established" // the interval spans the bound, or there is none
)

// Bound is a condition on a ratio: that it is under Limit, or over it.
type Bound struct {
	Over  bool
	Equal bool // the limit itself will do
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

// OfRuns holds the bound against the ratio of two runs as [CompareRuns] finds it. Held
// and Failed are wrong only where the interval misses the true ratio. The reason is
// that of Open: what is missing, and how many rounds would probably do.
func (b Bound) OfRuns(before, after []float64, o Options) (v Verdict, outcome Outcome, reason string) {
	o = o.withDefaults()
	v = CompareRuns(before, after, o)
	u, err := unpairedOf(before, after)
	switch low, high := b.holds(v.CI[0]), b.holds(v.CI[1]); {
	case err != nil || v.Rounds < MinRounds:
		return v, Open, v.Reason
	case low && high:
		return v, Held, ""
	case !low && !high:
		return v, Failed, ""
	}
	reason = fmt.Sprintf("the interval spans %g", b.Limit)
	if n := u.narrowTo(math.Abs(u.difference()-math.Log(b.Limit)), o); n <= farthest {
		return v, Open, fmt.Sprintf("%s: about %d rounds in both runs would settle it, if the noise stays", reason, n)
	}
	return v, Open, reason + ", and the ratio is too close to it to be settled by more rounds"
}
