package verdict

import (
	"fmt"
	"math"
	"slices"
)

// Doubt is a property of the rounds that the ratio does not show.
type Doubt struct {
	Text string
	Kind CauseKind
	// Decisive doubts remove the decision, because it might be different without the doubted data.
	Decisive bool
}

const (
	// driftLevel and outlierLevel are the false-alarm rates of the guards, per comparison.
	driftLevel   = 0.02 // five rounds that only rise have p = 0.017
	outlierLevel = 0.01
)

// Doubts detects a ratio that drifts from round to round (or from group of cycles to group of cycles), and a
// round that differs from the others. Both must exceed the margin. They are decisive only if the decision
// of v would be different without them: at the end of a run twice as long, or without that round.
func Doubts(pairs []Pair, v Verdict, o Options) (all []Doubt) {
	o = o.withDefaults()
	logs, err := logRatios(pairs)
	if err != nil || len(logs) < MinRounds {
		return nil
	}
	margin := math.Log1p(o.Margin)
	if slope, p := trend(logs, o); p <= driftLevel && math.Abs(slope)*float64(len(logs)-1) > margin {
		all = append(all, drift(logs, slope, p, v, o))
	}
	if i := Outlier(logs, outlierLevel); i >= 0 && math.Abs(logs[i]-Median(logs)) > margin {
		all = append(all, outlier(pairs, logs, i, v, o))
	}
	return all
}

// trend returns the change of the ratio from one round to the next and the probability of as consistent a
// change without a trend. Neighbours that share something rise and fall together, which Mann and Kendall's
// test does not allow for.
func trend(logs []float64, o Options) (slope, p float64) {
	if o.Consecutive {
		slope, u := trending(logs)
		return slope, u.beyond(slope)
	}
	return Slope(logs), Trend(logs)
}

func drift(logs []float64, slope, p float64, v Verdict, o Options) Doubt {
	rounds := float64(len(logs))
	direction := "rose"
	if slope < 0 {
		direction = "fell"
	}
	// The line through the median, at the first round and at the end of a run twice as long.
	first := Median(logs) - slope*(rounds-1)/2
	last := first + slope*(2*rounds-1)
	sameSide := sideOf(first, o) == sideOf(last, o)
	return Doubt{
		Kind: CauseDrift,
		Text: fmt.Sprintf("drift: the ratio %s from %s to %[2]s, by %s each (trend p = %.2g); something else changed during the run",
			direction, o.unit(), percent(math.Abs(math.Expm1(slope))), p),
		Decisive: v.Decision != Undecided && !sameSide,
	}
}

// sideOf returns -1, 0 or 1 for a ratio below, within and above the margin.
func sideOf(log float64, o Options) int {
	margin := math.Log1p(o.Margin)
	switch {
	case log < -margin:
		return -1
	case log > margin:
		return 1
	}
	return 0
}

func outlier(pairs []Pair, logs []float64, i int, v Verdict, o Options) Doubt {
	rest := slices.Delete(slices.Clone(pairs), i, i+1)
	without := o
	without.Others = nil
	for _, values := range o.Others {
		if len(values) == len(pairs) {
			without.Others = append(without.Others, slices.Delete(slices.Clone(values), i, i+1))
		}
	}
	return Doubt{
		Kind: CauseOutlier,
		Text: fmt.Sprintf("outlier: in pair %d of %d the ratio was %.3g (median %.3g): check that %s",
			i+1, len(logs), math.Exp(logs[i]), math.Exp(Median(logs)), o.unit()),
		Decisive: v.Decision != Undecided && Compare(rest, without).Decision != v.Decision,
	}
}

// TooFew reports whether a percentile has too few calls: fewer than ten beyond it, whose number varies by
// a third or more from trial to trial. tail is the share of calls beyond the percentile, 0.01 for p99.
func TooFew(calls uint64, tail float64) bool { return float64(calls)*tail < 10-1e-6 }
