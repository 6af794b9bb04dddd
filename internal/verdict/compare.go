package verdict

import (
	"fmt"
	"math"
)

// Compare compares arm A with arm B, paired by round.
//
// A decision is wrong only if the interval misses the true ratio: better and worse need the whole interval
// on one side of 1, equivalent needs it within the margin. So the probability of any wrong decision
// in a run is at most 1-Level.
func Compare(pairs []Pair, o Options) Verdict {
	o = o.withDefaults()
	v := Verdict{Rounds: len(pairs), Level: 1 - o.alpha(), Decision: Undecided}
	logs, err := logRatios(pairs)
	if err != nil {
		v.Reason, v.Cause = err.Error(), Cause{Kind: CauseValue}
		return v
	}
	if len(logs) > 0 {
		v.Ratio = bounded(mean(logs))
	}
	if len(logs) >= 2 {
		u := uncertaintyOf(pairs, logs, o)
		lo, hi := interval(logs, u, o)
		v.CI = [2]float64{bounded(lo - o.Raised[0]), bounded(hi + o.Raised[1])}
		v.Error, v.Freedom = u.student(o.alpha())
	}
	if len(logs) < MinRounds {
		v.Reason, v.Cause = fmt.Sprintf("%s; at least %d are needed", o.count(len(logs)), MinRounds), Cause{Kind: CauseRounds, Have: float64(len(logs)), Needed: MinRounds, Groups: o.groups()}
		return v
	}
	v.Decision = decide(v, o)
	if v.Decision == Undecided {
		v.Reason, v.Cause = undecidedReason(v, o, roundsNeeded(mean(logs), v, o))
	}
	return v
}

// uncertaintyOf returns the uncertainty of the mean of the pairs' log ratios (at least 2).
func uncertaintyOf(pairs []Pair, logs []float64, o Options) uncertainty {
	others := contrasts(pairs, o.Others)
	if o.Consecutive {
		return dependent(logs, others)
	}
	n := float64(len(logs))
	variance, freedom := shared(square(deviation(logs)), n-1, others)
	return uncertainty{[]part{{math.Sqrt(variance / n), 1}}, freedom}
}

// interval returns a confidence interval for the mean of the population of logs (at least 2 values). For
// rounds, each side is the wider of two intervals:
//
//   - Student's t interval, which is exact for normal values however few, and may exceed the
//     observed range;
//   - the bootstrap percentile interval with the small-sample expansion of Hesterberg (2015), which
//     follows skew.
//
// Resampling assumes independent values, so consecutive ones have the interval of their [uncertainty] only.
func interval(logs []float64, u uncertainty, o Options) (lo, hi float64) {
	m, half := mean(logs), u.half(o.alpha())
	if o.Consecutive {
		return m - half, m + half
	}
	lo, hi = bootstrapMeans(logs, o.Seed).tails(expandedTail(len(logs), o.alpha()))
	return min(m-half, lo), max(m+half, hi)
}

func decide(v Verdict, o Options) Decision {
	low, high := 1/(1+o.Margin), 1+o.Margin
	spans := v.CI[0] <= 1 && 1 <= v.CI[1]
	switch {
	case low <= v.CI[0] && v.CI[1] <= high:
		return Equivalent
	case spans || low <= v.Ratio && v.Ratio <= high:
		return Undecided
	case (v.Ratio < 1) == o.LowerIsBetter:
		return Better
	default:
		return Worse
	}
}

// logRatios returns an error for the first pair that has no ratio.
func logRatios(pairs []Pair) ([]float64, error) {
	logs := make([]float64, len(pairs))
	for i, p := range pairs {
		for _, side := range []struct {
			name  string
			value float64
		}{{"a", p.A}, {"b", p.B}} {
			if !(side.value > 0) || math.IsInf(side.value, 1) {
				return nil, fmt.Errorf("pair %d of %d cannot be used: %s is %g, and a ratio needs positive, finite values",
					i+1, len(pairs), side.name, side.value)
			}
		}
		logs[i] = math.Log(p.A) - math.Log(p.B)
	}
	return logs, nil
}

// bounded returns e^x, limited to finite positive values, which JSON can represent.
func bounded(x float64) float64 { return math.Exp(min(max(x, -700), 700)) }
