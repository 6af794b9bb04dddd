package verdict

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mathext"
)

// maxAdvisedRounds is the largest number of rounds that a reason recommends.
const maxAdvisedRounds = 1000

// undecidedReason says why a comparison is undecided and what would help; n rounds would probably narrow
// the interval enough. It means a new run: adding rounds because of a verdict would invalidate it.
func undecidedReason(v Verdict, o Options, n int) (reason string, cause Cause) {
	reason, cause = "the difference may be zero", Cause{Kind: CauseInterval, Have: float64(v.Rounds), Groups: o.groups()}
	if v.CI[0] > 1 || v.CI[1] < 1 {
		cause.Difference, cause.Margin = math.Abs(v.Ratio-1), o.Margin
		reason = fmt.Sprintf("a difference of %s may be under the margin of %s",
			percent(cause.Difference), percent(o.Margin))
	}
	if n > maxAdvisedRounds {
		return fmt.Sprintf("%s, and over %d %s would be needed to decide", reason, maxAdvisedRounds, o.units()), cause
	}
	cause.Needed = float64(n)
	return fmt.Sprintf("%s: about %d %s in all would decide, if the noise stays", reason, n, o.units()), cause
}

// roundsNeeded returns the smallest number of rounds that would allow a decision if the mean of the log
// ratios and their noise stayed the same. It returns more than maxAdvisedRounds if no smaller number would do.
func roundsNeeded(mean float64, v Verdict, o Options) int { return v.narrowTo(o.room(mean), o) }

// room is how narrow, on either side, the interval of a mean log ratio has to be to decide.
func (o Options) room(mean float64) float64 {
	m, margin := math.Abs(mean), math.Log1p(o.Margin)
	if m > margin {
		return m
	}
	return margin - m
}

// narrowTo returns the smallest number of rounds over those of the verdict whose interval is narrower than room
// on either side, or more than maxAdvisedRounds.
func (v Verdict) narrowTo(room float64, o Options) int {
	if room -= max(o.Raised[0], o.Raised[1]); !(room > 0) {
		return maxAdvisedRounds + 1
	}
	// t is never smaller than z, so fewer rounds cannot suffice.
	least := math.Ceil(square(mathext.NormalQuantile(o.alpha()/2)*v.Error/room) * float64(v.Rounds))
	if !(least <= maxAdvisedRounds) {
		return maxAdvisedRounds + 1
	}
	n := max(v.Rounds+1, int(least))
	for n <= maxAdvisedRounds && v.halfAfter(n, o) >= room {
		n++
	}
	return n
}

// halfAfter returns half of the width of the interval, as a logarithm, after n rounds with the same noise.
func (v Verdict) halfAfter(n int, o Options) float64 {
	have, after := float64(v.Rounds), float64(n)
	freedom := v.Freedom + after - have
	if o.Consecutive { // how well the dependence is known grows with the number of cycles
		freedom = min(v.Freedom*after/have, after-1)
	}
	return studentOf(freedom, o.alpha()) * v.Error * math.Sqrt(have/after)
}

func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// count names n units of the comparison.
func (o Options) count(n int) string {
	switch n {
	case 0:
		return "no " + o.units()
	case 1:
		return "1 " + o.unit()
	}
	return strconv.Itoa(n) + " " + o.units()
}

func (o Options) unit() string {
	switch {
	case o.Runs:
		return "run"
	case o.groups():
		return "group of cycles"
	}
	return "round"
}

func (o Options) units() string {
	if o.groups() && !o.Runs {
		return "groups of cycles"
	}
	return o.unit() + "s"
}
