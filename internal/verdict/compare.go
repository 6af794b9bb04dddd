// Package verdict contains the statistics: which difference between two arms is real, how calls were
// distributed over backends, and when balance was restored. It has no side effects, and the same seed
// gives the same result. docs/method/statistics.md describes the method and its limits.
package verdict

import (
	"fmt"
	"math"
)

// Decision is the result of comparing arm A with arm B.
type Decision string

const (
	Better     Decision = "better"
	Worse      Decision = "worse"
	Equivalent Decision = "equivalent"
	Undecided  Decision = "undecided"
)

// MinRounds is the number of pairs that a decision needs. With fewer than three degrees of freedom,
// Student's t would detect only extreme differences.
const MinRounds = 4

// Pair holds the values of one metric of two arms in the same round. A trial without a value is NaN, so
// that the pair is reported and not ignored.
type Pair struct{ A, B float64 }

// Options of a comparison. A zero (or a value out of range) means the default.
type Options struct {
	// Level is the confidence that all verdicts of the run are correct, in (0, 1); 0.95 by default.
	Level float64
	// Family is the number of verdicts of the run. Each gets 1-(1-Level)/Family
	// (Bonferroni), which holds however the verdicts depend on one another.
	Family int
	// Looks is how often the run may examine its verdicts and end. Each look has its share of the
	// error (Bonferroni). 1 by default.
	Looks int
	// Margin is the largest difference, as a share, that counts as none; 0.03 by default.
	Margin float64
	// Seed of the resampling, which needs it only for more than [exactRounds] pairs.
	Seed uint64
	// LowerIsBetter is true for latency and false for rates.
	LowerIsBetter bool
}

// Verdict is the outcome of one comparison.
type Verdict struct {
	// Ratio is the geometric mean of A/B. CI is its confidence interval at Level.
	// Both are finite. Ratio is 0 without a usable pair, CI with fewer than two pairs.
	Ratio    float64
	CI       [2]float64
	Level    float64 // of this interval, after the correction for the family
	Decision Decision
	Rounds   int
	Reason   string // of Undecided: what is missing and what would help
	Cause    Cause  // the same as fields
}

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

func (o Options) withDefaults() Options {
	if !(o.Level > 0 && o.Level < 1) {
		o.Level = 0.95
	}
	if !(o.Margin > 0) {
		o.Margin = 0.03
	}
	o.Family, o.Looks = max(o.Family, 1), max(o.Looks, 1)
	return o
}

// alpha is the error probability of this one verdict.
func (o Options) alpha() float64 { return (1 - o.Level) / float64(o.Family*o.Looks) }

// Looks returns the numbers of rounds after which a run until decided examines its verdicts: first, then
// half as many again each time, and last. Few looks leave each a useful share of the error.
func Looks(first, last int) []int {
	var looks []int
	for n := max(first, MinRounds); n < last; n += (n + 1) / 2 {
		looks = append(looks, n)
	}
	return append(looks, last)
}
