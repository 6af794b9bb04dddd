package verdict

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// CompareRanks compares two arms by the order of their trials alone. The values are shares of failed calls, or
// times; +Inf is a time that did not end within its trial. CompareRanks uses the exact rank-sum test, and the
// interval that inverts the test (Hodges and Lehmann).
//
// One event fails many calls at once, so a test that counts calls finds differences between equal arms
// (docs/decisions/0033-headlines.md). The unit of this test is the trial, so the calls of a trial may depend on
// each other. Trials are independent of each other, and equal arms have equal distributions, of any form. It needs
// [RankRounds] rounds.
//
// Neighbouring rounds of arms that take turns may share something. With o.Consecutive the interval also contains one that
// allows for that (neighbours).
//
// J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank Tests", Ann. Math. Statist. 34(2), 1963.
func CompareRanks(pairs []Pair, o Options) Verdict {
	var a, b []float64
	for i, p := range pairs {
		if !(p.A > 0 && p.B > 0) {
			reason := fmt.Sprintf("pair %d of %d cannot be used: its values are %g and %g, and must be positive", i+1, len(pairs), p.A, p.B)
			return Verdict{Rounds: len(pairs), Level: 1 - o.withDefaults().alpha(), Decision: Undecided, Reason: reason, Cause: Cause{Kind: CauseValue}}
		}
		a, b = append(a, p.A), append(b, p.B)
	}
	return byRank(a, b, true, o)
}

// CompareRunsByRank compares the trials of run b with those of an earlier run a as [CompareRanks] does; the ratio
// is b over a.
func CompareRunsByRank(a, b []float64, o Options) Verdict {
	for r, values := range [][]float64{a, b} {
		for i, x := range values {
			if !(x > 0) {
				reason := fmt.Sprintf("trial %d of %d of %c cannot be used: its value is %g, and must be positive", i+1, len(values), "AB"[r], x)
				return Verdict{Rounds: min(len(a), len(b)), Level: 1 - o.withDefaults().alpha(), Decision: Undecided, Reason: reason, Cause: Cause{Kind: CauseValue}}
			}
		}
	}
	return byRank(b, a, false, o)
}

// byRank compares two samples of positive values, whose values with the same index are of the same round if they are paired.
func byRank(a, b []float64, paired bool, o Options) Verdict {
	o = o.withDefaults()
	v := Verdict{Rounds: min(len(a), len(b)), Level: 1 - o.alpha(), Decision: Undecided}
	var shifts []float64
	for _, x := range a {
		for _, y := range b {
			shifts = append(shifts, logRatio(x, y))
		}
	}
	slices.Sort(shifts)
	if len(shifts) > 0 {
		v.Ratio = bounded(middle(shifts))
	}
	beyond := rankSumTail(len(a), len(b), o.alpha()/2)
	if beyond == 0 || v.Rounds < MinRounds {
		least := RankRounds(o)
		v.Reason = fmt.Sprintf("%s; at least %d are needed", o.count(v.Rounds), least)
		v.Cause = Cause{Kind: CauseRounds, Have: float64(v.Rounds), Needed: float64(least)}
		return v
	}
	v.CI = [2]float64{bounded(shifts[beyond-1]), bounded(shifts[len(shifts)-beyond])}
	p := RankSum(a, b)
	var consecutive neighbours
	if o.Consecutive {
		consecutive = neighboursOf(a, b, paired)
		margin := math.Log1p(o.Margin)
		lo, hi := consecutive.interval(shifts, o.alpha(), -margin*1.001, 0, margin*1.001)
		v.CI = [2]float64{min(v.CI[0], bounded(lo)), max(v.CI[1], bounded(hi))}
	}
	if v.Decision = decide(v, o); v.Decision == Equivalent {
		means := bounded(meanShift(a, b))
		v.CI = [2]float64{min(v.CI[0], means), max(v.CI[1], means)}
		v.Decision = decide(v, o)
	}
	if p > o.alpha() && v.Decision != Equivalent {
		v.Decision = Undecided
	}
	if v.Decision == Undecided {
		needed := rankRoundsNeeded(a, b, o)
		if o.Consecutive {
			needed = max(needed, consecutive.rounds(o.alpha()))
		}
		v.Reason, v.Cause = undecidedReason(v, o, needed)
	}
	return v
}

// logRatio returns the logarithm of a/b. Both may be +Inf; the ratio of equal values is 1.
func logRatio(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Log(a) - math.Log(b)
}

// meanShift returns the logarithm of the ratio of the means of two samples. The one with the larger share of infinite values has
// the larger mean. What happens in a few trials shows in the means, and not in the interval: most differences of two
// trials without it are 0.
func meanShift(a, b []float64) float64 {
	infinite := func(x float64) bool { return math.IsInf(x, 1) }
	finiteA, finiteB := slices.DeleteFunc(slices.Clone(a), infinite), slices.DeleteFunc(slices.Clone(b), infinite)
	if more := len(finiteB)*len(a) - len(finiteA)*len(b); more != 0 {
		return math.Inf(more)
	}
	if len(finiteA) == 0 {
		return 0
	}
	return logRatio(mean(finiteA), mean(finiteB))
}

// middle returns the median of sorted values, which may be infinite.
func middle(sorted []float64) float64 {
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	if low == high || math.IsInf(low, 0) && math.IsInf(high, 0) {
		return low
	}
	return (low + high) / 2
}

// RankRounds is the smallest number of rounds with which [CompareRanks] can decide.
func RankRounds(o Options) int {
	o = o.withDefaults()
	n := MinRounds
	for rankSumTail(n, n, o.alpha()/2) == 0 {
		n++
	}
	return n
}

// RankShare is the smallest share of all pairs of a trial of each arm that must have the same order so that [CompareRanks]
// decides after n independent rounds; 0: it cannot decide.
func RankShare(n int, o Options) float64 {
	beyond := rankSumTail(n, n, o.withDefaults().alpha()/2)
	if beyond == 0 || n < MinRounds {
		return 0
	}
	return 1 - float64(beyond-1)/float64(n*n)
}

// rankSumTail returns how many of the smallest values of the Mann-Whitney statistic of samples of n and m values
// have a total probability of at most p. If one has over 50 values it uses the normal approximation.
func rankSumTail(n, m int, p float64) int {
	if max(n, m) > 50 {
		most := float64(n * m)
		sd := math.Sqrt(most * float64(n+m+1) / 12)
		return max(0, int(most/2+mathext.NormalQuantile(p)*sd))
	}
	// ways[i][u] is the number of orders of i values of one sample and j of the other with the statistic u.
	ways := make([][]float64, n+1)
	for i := range ways {
		ways[i] = make([]float64, n*m+1)
		ways[i][0] = 1 // no value of the other sample
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			for u := n * m; u >= j; u-- {
				ways[i][u] += ways[i-1][u-j]
			}
		}
	}
	return tailOf(ways[n], p)
}

// tailOf returns how many of the first counts have a sum of at most the share p of all counts.
func tailOf(counts []float64, p float64) int {
	var all, sum float64
	for _, n := range counts {
		all += n
	}
	for u, n := range counts {
		if sum += n; sum > p*all*(1+1e-12) {
			return u
		}
	}
	return len(counts)
}

// rankRoundsNeeded returns how many rounds would decide if each trial had occurred several times, or more than
// maxAdvisedRounds if that many would not decide.
func rankRoundsNeeded(a, b []float64, o Options) int {
	for n := 2; n*len(a) <= maxAdvisedRounds; n += (n + 3) / 4 {
		if RankSum(slices.Repeat(a, n), slices.Repeat(b, n)) <= o.alpha() {
			return n * len(a)
		}
	}
	return maxAdvisedRounds + 1
}

// MedianInterval returns a confidence interval for the median of values, which may be +Inf. Its ends are two of
// the values, chosen by the binomial distribution of the number of values under the median. It is exact for
// every distribution. ok is false if there are too few values: fewer than 6 for a level of 0.95.
//
// W. R. Thompson, "On Confidence Ranges for the Median", Ann. Math. Statist. 7(3), 1936.
func MedianInterval(values []float64, level float64) (low, high float64, ok bool) {
	n := len(values)
	sorted := slices.Sorted(slices.Values(values))
	outside := 0 // one more than the values to leave out on each side
	for outside < n && 2*headsBelow(outside, n) <= 1-level {
		outside++
	}
	if outside == 0 || n == 0 {
		return 0, 0, false
	}
	return sorted[outside-1], sorted[n-outside], true
}
