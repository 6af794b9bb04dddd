package verdict

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// CompareRuns compares the trials of run b with those of an earlier run a; the ratio is b over a. They are
// two independent samples, and the ratio includes everything that changed between the runs. The values of a
// run are independent or, with o.Consecutive, groups of cycles that may share something with their neighbours.
// Decisions are those of [Compare]; Rounds is the number of values of the smaller run.
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
		lo, hi := u.interval(o)
		v.CI = [2]float64{bounded(lo - o.Raised[1]), bounded(hi + o.Raised[0])} // b over a
	}
	if v.Rounds < MinRounds {
		v.Reason = fmt.Sprintf("%s in one of the runs; at least %d are needed in both", o.count(v.Rounds), MinRounds)
		if o.Runs {
			v.Reason = fmt.Sprintf("%s on one side; at least %d are needed on both", o.count(v.Rounds), MinRounds)
		}
		v.Cause = Cause{Kind: CauseRounds, Have: float64(v.Rounds), Needed: MinRounds, Groups: o.groups()}
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

// interval returns a confidence interval for the difference of the means of two samples (each of at least 2
// values). Of independent values each side is the wider of Welch's t interval for unequal variances and the
// bootstrap with resamples of both. Consecutive ones have the interval of their [uncertainty].
func (u unpaired) interval(o Options) (lo, hi float64) {
	d, alpha := u.difference(), o.alpha()
	if o.Consecutive {
		half := u.dependent().half(alpha)
		return d - half, d + half
	}
	half := u.spread(len(u.a), len(u.b)) * studentOf(u.freedom(len(u.a), len(u.b)), alpha)
	if half == 0 {
		return d, d
	}
	// Resampling uses variances with divisor n; the expansion corrects that.
	na, nb := float64(len(u.a)), float64(len(u.b))
	narrow := math.Sqrt(square(deviation(u.a))*(na-1)/(na*na) + square(deviation(u.b))*(nb-1)/(nb*nb))
	tail := normalBelow(-half / narrow)
	a, b := bootstrapMeans(u.a, o.Seed), bootstrapMeans(u.b, o.Seed)
	return min(d-half, lowerTail(b, a, tail)), max(d+half, -lowerTail(a, b, tail))
}

// dependent returns the uncertainty of the difference of the means of two samples of consecutive values (each of
// at least 2). What neighbours share may differ between the runs, so every pair of dependences is possible.
func (u unpaired) dependent() uncertainty {
	a, b := dependent(u.a, nil), dependent(u.b, nil)
	both := uncertainty{freedom: welch(a.variance(), b.variance(), a.freedom, b.freedom)}
	for _, x := range a.parts {
		for _, y := range b.parts {
			both.parts = append(both.parts, part{math.Hypot(x.err, y.err), x.weight * y.weight})
		}
	}
	return both.merged()
}

// spread is the standard error of the difference of the means of na and nb trials.
func (u unpaired) spread(na, nb int) float64 {
	return math.Sqrt(square(deviation(u.a))/float64(na) + square(deviation(u.b))/float64(nb))
}

// freedom is the number of degrees of freedom of na and nb trials.
func (u unpaired) freedom(na, nb int) float64 {
	return welch(square(deviation(u.a))/float64(na), square(deviation(u.b))/float64(nb), float64(na-1), float64(nb-1))
}

// welch is the number of degrees of freedom of the sum of two variances that have so many. B. L. Welch, "The
// Generalization of 'Student's' Problem when Several Different Population Variances are Involved", Biometrika
// 34, 1947.
func welch(va, vb, freedomA, freedomB float64) float64 {
	if va+vb == 0 {
		return freedomA + freedomB
	}
	return square(va+vb) / (va*va/freedomA + vb*vb/freedomB)
}

// roundsNeeded returns the smallest number of values in both runs whose interval would allow a decision if means
// and noise stayed the same.
func (u unpaired) roundsNeeded(o Options) int { return u.narrowTo(o.room(u.difference()), o) }

// narrowTo returns the smallest number of values in both runs whose interval is narrower than room on either
// side, or more than maxAdvisedRounds.
func (u unpaired) narrowTo(room float64, o Options) int {
	if o.Consecutive {
		v := Verdict{Rounds: min(len(u.a), len(u.b))}
		v.Error, v.Freedom = u.dependent().student(o.alpha())
		return v.narrowTo(room, o)
	}
	if room -= max(o.Raised[0], o.Raised[1]); !(room > 0) {
		return maxAdvisedRounds + 1
	}
	// t is never smaller than z, so fewer trials cannot suffice.
	least := math.Ceil(square(mathext.NormalQuantile(o.alpha()/2) * u.spread(1, 1) / room))
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
