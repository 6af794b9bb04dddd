package verdict

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Precision describes how precisely a comparison estimates its ratio, and so which true differences it detects:
// those for which the interval excludes 1 and the ratio is beyond the margin.
type Precision struct {
	Error   float64 // standard error of the logarithm of the ratio
	Freedom float64 // degrees of freedom of Error
	Rounds  float64 // from which Error and Freedom were estimated
	Alpha   float64 // 1 - the level of the interval
	Margin  float64 // as a share; 0 means [DefaultMargin]
	Raised  float64 // by how much late calls can have raised either arm at most, as in [Options]
}

// Precision returns the precision of a comparison with these options. It is zero if it is not known. More than half
// of all estimates from a few rounds are below the true error. So Precision returns the error of which half are.
func (v Verdict) Precision(o Options) Precision {
	o = o.withDefaults()
	p := Precision{Error: v.Error, Freedom: v.Freedom, Rounds: float64(v.Rounds), Alpha: o.alpha(), Margin: o.Margin, Raised: max(o.Raised[0], o.Raised[1])}
	if !o.Consecutive && p.Freedom > 0 { // the error of cycles includes what they may share, and is not too small
		p.Error /= p.estimate(0)
	}
	return p
}

// Ratio returns the smallest true ratio over 1 that the comparison detects with a probability of power, if the
// noise stays the same. It detects 1/ratio with at least this probability.
func (p Precision) Ratio(power float64) float64 {
	low, high := 0.0, 1.0
	errors, bar := p.draws(), p.bar()
	for p.detects(high, errors, bar) < power && high < 20 {
		low, high = high, 2*high
	}
	for range 40 {
		if middle := (low + high) / 2; p.detects(middle, errors, bar) < power {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(high)
}

// After returns the precision of a run with another number of rounds, if the noise stays the same.
func (p Precision) After(rounds float64) Precision {
	p.Error, p.Freedom, p.Rounds = p.Error*math.Sqrt(p.Rounds/rounds), p.Freedom*rounds/p.Rounds, rounds
	return p
}

// Under returns the precision with the margin of o and the share of the error that o leaves to one verdict.
func (p Precision) Under(o Options) Precision {
	o = o.withDefaults()
	p.Alpha, p.Margin = o.alpha(), o.Margin
	return p
}

// RoundsFor returns the number of rounds, at most [MaxRounds], with which a comparison detects a true ratio
// with a probability of power.
func (p Precision) RoundsFor(ratio, power float64) int {
	enough := func(n int) bool {
		after := p.After(float64(n))
		return after.detects(math.Log(ratio), after.draws(), after.bar()) >= power
	}
	return MinRounds + sort.Search(MaxRounds-MinRounds, func(i int) bool { return enough(MinRounds + i) })
}

// MaxRounds is the largest number of rounds that [Precision.RoundsFor] returns.
const MaxRounds = 1000

// Likely returns the precision if the true noise is at the lower or at the upper end of its 80 % interval. Few
// rounds estimate the noise only roughly.
func (p Precision) Likely() (low, high Precision) {
	low, high = p, p
	freedom := max(p.Freedom, 1)
	low.Error *= math.Sqrt(p.Freedom / chiSquareQuantile(0.9, freedom))
	high.Error *= math.Sqrt(p.Freedom / chiSquareQuantile(0.1, freedom))
	return low, high
}

// bar returns how many standard errors a log ratio must be from 0 so that its interval excludes 1.
func (p Precision) bar() float64 { return studentOf(max(p.Freedom, 1), p.Alpha) }

// draws returns equally probable estimates of the standard error, if Error is the true one.
func (p Precision) draws() []float64 {
	all := make([]float64, len(normalQuantiles))
	for i, z := range normalQuantiles {
		all[i] = p.Error * p.estimate(z)
	}
	return all
}

// estimate returns an estimate of the standard error as a multiple of the true one, at a quantile of the normal
// distribution. It uses Wilson and Hilferty's quantiles of the chi-squared distribution, which are exact enough.
func (p Precision) estimate(z float64) float64 {
	spread := 2 / (9 * max(p.Freedom, 1))
	return math.Pow(max(0, 1-spread+z*math.Sqrt(spread)), 1.5)
}

// detects returns the probability that a comparison detects a true log ratio. errors are the estimates of
// draws, and bar is that of Precision.bar.
func (p Precision) detects(log float64, errors []float64, bar float64) float64 {
	margin := p.Margin
	if !(margin > 0) {
		margin = DefaultMargin
	}
	if !(p.Error > 0) { // no noise
		if log > max(p.Raised, math.Log1p(margin)) {
			return 1
		}
		return 0
	}
	sum := 0.0
	for _, estimated := range errors {
		sum += normalBelow((log - max(bar*estimated+p.Raised, math.Log1p(margin))) / p.Error)
	}
	return sum / float64(len(errors))
}

// normalQuantiles are the quantiles of the standard normal distribution in the middle of 32 equally probable
// classes.
var normalQuantiles = func() []float64 {
	all := make([]float64, 32)
	for i := range all {
		all[i] = mathext.NormalQuantile((float64(i) + 0.5) / float64(len(all)))
	}
	return all
}()
