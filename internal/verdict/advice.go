package verdict

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxAdvisedRounds is the largest number of rounds that a reason recommends.
const maxAdvisedRounds = 1000

// undecidedReason says why a comparison is undecided and what would help; n rounds would probably narrow
// the interval enough. It means a new run: adding rounds because of a verdict would invalidate it.
func undecidedReason(v Verdict, o Options, n int) (reason string, cause Cause) {
	reason, cause = "the interval spans 1", Cause{Kind: CauseInterval, Have: float64(v.Rounds)}
	if v.CI[0] > 1 || v.CI[1] < 1 {
		cause.Difference, cause.Margin = math.Abs(v.Ratio-1), o.Margin
		reason = fmt.Sprintf("the interval excludes 1, but a difference of %s may be under the margin of %s",
			percent(cause.Difference), percent(o.Margin))
	}
	if n > maxAdvisedRounds {
		return fmt.Sprintf("%s, and it would take over %d rounds to narrow it enough", reason, maxAdvisedRounds), cause
	}
	cause.Needed = float64(n)
	return fmt.Sprintf("%s: more rounds would narrow it (about %d, if the noise stays)", reason, n), cause
}

// roundsNeeded returns the smallest number of rounds whose t interval would allow a decision if mean
// and deviation stayed the same. It returns more than maxAdvisedRounds if no smaller number would do.
func roundsNeeded(logs []float64, o Options) int {
	m, sd, margin := math.Abs(mean(logs)), deviation(logs), math.Log1p(o.Margin)
	room := margin - m
	if m > margin {
		room = m
	}
	// t is never smaller than z, so fewer rounds cannot suffice.
	least := math.Ceil(math.Pow(distuv.UnitNormal.Quantile(o.alpha()/2)*sd/room, 2))
	if !(least <= maxAdvisedRounds) {
		return maxAdvisedRounds + 1
	}
	n := max(len(logs)+1, int(least))
	for n <= maxAdvisedRounds && student(n, o.alpha())*sd/math.Sqrt(float64(n)) >= room {
		n++
	}
	return n
}

func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

func rounds(n int) string {
	switch n {
	case 0:
		return "no rounds"
	case 1:
		return "1 round"
	}
	return strconv.Itoa(n) + " rounds"
}
