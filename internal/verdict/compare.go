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
		lo, hi := interval(logs, o.alpha(), o.Seed)
		v.CI = [2]float64{bounded(lo), bounded(hi)}
		v.Error, v.Freedom = deviation(logs)/math.Sqrt(float64(len(logs))), float64(len(logs)-1)
	}
	if len(logs) < MinRounds {
		v.Reason, v.Cause = fmt.Sprintf("%s; at least %d are needed", rounds(len(logs)), MinRounds), Cause{Kind: CauseRounds, Have: float64(len(logs)), Needed: MinRounds}
		return v
	}
	v.Decision = decide(v, o)
	if v.Decision == Undecided {
		v.Reason, v.Cause = undecidedReason(v, o, roundsNeeded(logs, o))
	}
	return v
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
