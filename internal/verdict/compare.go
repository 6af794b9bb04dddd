// Package verdict is the statistics of the lab: it says which difference between
// two arms is real, how calls fell on backends, and when balance was restored.
// It is pure: plain values in, plain values out, and the same for the same seed.
// The method and its limits stand in docs/method/statistics.md.
package verdict

import (
	"fmt"
	"math"
)

// Decision is what a comparison says of arm A against arm B.
type Decision string

const (
	Better     Decision = "better"
	Worse      Decision = "worse"
	Equivalent Decision = "equivalent"
	Undecided  Decision = "undecided"
)

// MinRounds is how many pairs a decision needs: Student's t with fewer than three
// degrees of freedom asks for differences that no lab should have to show.
const MinRounds = 4

// Pair holds the values of one metric of the two arms in the same round. A trial
// that gave no value is NaN, so that the pair is reported and not left out.
type Pair struct{ A, B float64 }

// Options of a comparison. A zero (or a value out of range) means the default.
type Options struct {
	// Level is the confidence that all verdicts of the run are right together,
	// in (0, 1); 0.95 by default.
	Level float64
	// Family is the number of verdicts of the run. Each gets 1-(1-Level)/Family
	// (Bonferroni), which holds however the verdicts depend on one another.
	Family int
	// Looks is how often the run may look at its verdicts and end: each look has its
	// share of the error (Bonferroni again). 1 by default.
	Looks int
	// Margin is the difference that is not worth a call, as a share; 0.03 by default.
	Margin float64
	// Seed of the resampling; it matters with more than [exactRounds] pairs only.
	Seed uint64
	// LowerIsBetter holds for latency; a rate is better when it is higher.
	LowerIsBetter bool
}

// Verdict is the outcome of one comparison.
type Verdict struct {
	// Ratio is the geometric mean of A/B. CI is its confidence interval at Level.
	// Both are finite, and zero where there is none: Ratio without a usable pair,
	// CI with fewer than two pairs.
	Ratio    float64
	CI       [2]float64
	Level    float64 // of this one interval, after the share for the family
	Decision Decision
	Rounds   int
	Reason   string // of Undecided: what is missing and what would help
	Cause    Cause  // the same as fields
}

// Compare judges arm A against arm B, paired by round.
//
// Whatever it calls, it can be wrong only where the interval misses the true
// ratio: "better" says that the ratio is on the good side of 1, "equivalent" that
// it is within the margin, and either is said only if the whole interval is there.
// So the chance of any wrong call in a run is at most 1-Level.
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
		v.Reason, v.Cause = open(v, o, enough(logs, o))
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

// logRatios fails on the first pair that has no ratio.
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

// bounded is e^x, cut so that it is finite and positive and JSON can hold it.
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

// alpha is the share of the error that this one verdict may use up.
func (o Options) alpha() float64 { return (1 - o.Level) / float64(o.Family*o.Looks) }

// Looks are the numbers of rounds after which a run that lasts until its verdicts are decided
// may look at its verdicts: the first with enough for one, then half as many again
// each time, and the last. So they are few, and each can have its share of the error.
func Looks(first, last int) []int {
	var looks []int
	for n := max(first, MinRounds); n < last; n += (n + 1) / 2 {
		looks = append(looks, n)
	}
	return append(looks, last)
}
