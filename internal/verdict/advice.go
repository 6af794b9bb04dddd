package verdict

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// farthest is the largest number of rounds that advice speaks of.
const farthest = 1000

// open says why a comparison with enough rounds is undecided and what would help, where n rounds
// would probably narrow the interval enough. It speaks of a new run: rounds added because of a
// verdict would void it.
func open(v Verdict, o Options, n int) (reason string, cause Cause) {
	reason, cause = "the interval spans 1", Cause{Kind: CauseInterval, Have: float64(v.Rounds)}
	if v.CI[0] > 1 || v.CI[1] < 1 {
		cause.Difference, cause.Margin = math.Abs(v.Ratio-1), o.Margin
		reason = fmt.Sprintf("the interval excludes 1, but a difference of %s may be under the margin of %s",
			percent(cause.Difference), percent(o.Margin))
	}
	if n > farthest {
		return fmt.Sprintf("%s, and it would take over %d rounds to narrow it enough", reason, farthest), cause
	}
	cause.Needed = float64(n)
	return fmt.Sprintf("%s: more rounds would narrow it (about %d, if the noise stays)", reason, n), cause
}

// enough is the smallest number of rounds whose t interval would allow a decision
// if mean and deviation stayed as they are: one that ends before 1, or within the
// margin. It is over farthest if there is none up to that.
func enough(logs []float64, o Options) int {
	m, sd, margin := math.Abs(mean(logs)), deviation(logs), math.Log1p(o.Margin)
	room := margin - m
	if m > margin {
		room = m
	}
	// No t is smaller than z, so no number under this can do.
	least := math.Ceil(math.Pow(distuv.UnitNormal.Quantile(o.alpha()/2)*sd/room, 2))
	if !(least <= farthest) {
		return farthest + 1
	}
	n := max(len(logs)+1, int(least))
	for n <= farthest && student(n, o.alpha())*sd/math.Sqrt(float64(n)) >= room {
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
