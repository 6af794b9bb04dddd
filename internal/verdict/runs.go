package verdict

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// CompareRuns compares the trials of run b with those of an earlier run a; the ratio is b over a. They are
// two independent samples, and the ratio includes everything that changed between the runs. Decisions are
// those of [Compare]; Rounds is the number of trials of the smaller run.
func CompareRuns(a, b []float64, o Options) Verdict {
	o = o.withDefaults()
	v := Verdict{Rounds: min(len(a), len(b)), Level: 1 - o.alpha(), Decision: Undecided}
	u, err := unpairedOf(a, b)
	if err != nil {
		v.Reason, v.Cause = err.Error(), Cause{Kind: CauseValue}
		return v
	}
	if v.Rounds > 0 {
		v.Ratio = bounded(u.difference())
	}
	if v.Rounds >= 2 {
		lo, hi := u.interval(o.alpha(), o.Seed)
		v.CI = [2]float64{bounded(lo), bounded(hi)}
	}
	if v.Rounds < MinRounds {
		v.Reason, v.Cause = fmt.Sprintf("%s in one of the runs; at least %d are needed in both", o.count(v.Rounds), MinRounds), Cause{Kind: CauseRounds, Have: float64(v.Rounds), Needed: MinRounds}
		return v
	}
	v.Decision = decide(v, o)
	if v.Decision == Undecided {
		v.Reason, v.Cause = undecidedReason(v, o, u.roundsNeeded(o))
	}
	return v
}

// unpaired holds the logarithms of the values of two runs.
type unpaired struct{ a, b []float64 }

func unpairedOf(a, b []float64) (u unpaired, err error) {
	logs := func(run string, values []float64) []float64 {
		var all []float64
		for i, x := range values {
			if err == nil && (!(x > 0) || math.IsInf(x, 1)) {
				err = fmt.Errorf("trial %d of %d of %s cannot be used: its value is %g, and a ratio needs positive, finite values",
					i+1, len(values), run, x)
			}
			all = append(all, math.Log(x))
		}
		return all
	}
	u = unpaired{logs("A", a), logs("B", b)}
	return u, err
}

func (u unpaired) difference() float64 { return mean(u.b) - mean(u.a) }

// interval returns a confidence interval of level 1-alpha for the difference of the means of two samples
// (each of at least 2 values). Each side is the wider of Welch's t interval for unequal variances and the
// bootstrap with resamples of both.
func (u unpaired) interval(alpha float64, seed uint64) (lo, hi float64) {
	d, wide := u.difference(), u.spread(len(u.a), len(u.b))
	half := wide * studentOf(u.freedom(len(u.a), len(u.b)), alpha)
	if half == 0 {
		return d, d
	}
	// Resampling uses variances with divisor n; the expansion corrects that.
	na, nb := float64(len(u.a)), float64(len(u.b))
	narrow := math.Sqrt(square(deviation(u.a))*(na-1)/(na*na) + square(deviation(u.b))*(nb-1)/(nb*nb))
	tail := distuv.UnitNormal.CDF(-half / narrow)
	a, b := bootstrapMeans(u.a, seed), bootstrapMeans(u.b, seed)
	return min(d-half, lowerTail(b, a, tail)), max(d+half, -lowerTail(a, b, tail))
}

// spread is the standard error of the difference of the means of na and nb trials.
func (u unpaired) spread(na, nb int) float64 {
	return math.Sqrt(square(deviation(u.a))/float64(na) + square(deviation(u.b))/float64(nb))
}

// freedom is the number of degrees of freedom of na and nb trials. B. L. Welch, "The
// Generalization of 'Student's' Problem when Several Different Population Variances are
// Involved", Biometrika 34, 1947.
func (u unpaired) freedom(na, nb int) float64 {
	va, vb := square(deviation(u.a))/float64(na), square(deviation(u.b))/float64(nb)
	if va+vb == 0 {
		return float64(na + nb - 2)
	}
	return square(va+vb) / (va*va/float64(na-1) + vb*vb/float64(nb-1))
}

// roundsNeeded returns the smallest number of trials in both runs whose t interval would allow a decision if
// means and deviations stayed the same.
func (u unpaired) roundsNeeded(o Options) int {
	m, margin := math.Abs(u.difference()), math.Log1p(o.Margin)
	room := margin - m
	if m > margin {
		room = m
	}
	return u.narrowTo(room, o)
}

// narrowTo returns the smallest number of trials in both runs whose t interval is narrower than room on
// either side, or more than maxAdvisedRounds.
func (u unpaired) narrowTo(room float64, o Options) int {
	// t is never smaller than z, so fewer trials cannot suffice.
	least := math.Ceil(square(distuv.UnitNormal.Quantile(o.alpha()/2) * u.spread(1, 1) / room))
	if !(least <= maxAdvisedRounds) {
		return maxAdvisedRounds + 1
	}
	for n := max(min(len(u.a), len(u.b))+1, int(least)); n <= maxAdvisedRounds; n++ {
		if studentOf(u.freedom(n, n), o.alpha())*u.spread(n, n) < room {
			return n
		}
	}
	return maxAdvisedRounds + 1
}

// lowerTail returns the p-quantile of the difference of a draw from x and a draw from y. If the smallest
// difference alone is more probable than p, it returns that.
func lowerTail(x, y distribution, p float64) float64 {
	lo, hi := x[0].value-y[len(y)-1].value, x[len(x)-1].value-y[0].value
	if atMost(x, y, lo) >= p {
		return lo
	}
	for range 45 { // halvings: far below the resolution of a histogram
		middle := (lo + hi) / 2
		if atMost(x, y, middle) >= p {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi
}

// atMost returns the probability that a draw from x exceeds a draw from y by at most d.
func atMost(x, y distribution, d float64) float64 {
	var below, all float64
	i := 0
	for _, w := range y {
		for i < len(x) && x[i].value <= w.value+d {
			below += x[i].weight
			i++
		}
		all += w.weight * below
	}
	return all
}
