package verdict

import (
	"fmt"
	"math"
)

// Triple holds the values of one metric in one round: of a published arm, of the same arm without its
// confound, and of the baseline.
type Triple struct{ Published, Controlled, Baseline float64 }

// Remaining is the part of a published gap that remains without the confound.
type Remaining struct {
	Gap   float64 // published minus baseline, mean over rounds
	Share float64 // controlled minus baseline, as a share of Gap
	// CI is the interval of Share at Level; zero if Reason is set.
	CI     [2]float64
	Level  float64
	Reason string
}

// RemainingGap estimates the effect of a confound from rounds (or consecutive groups of cycles) of the three
// arms. The share is a quotient of two means, and its interval is Fieller's: all shares s for which the mean
// of (controlled − baseline) − s·(published − baseline) may be 0. When the gap itself may be 0 there is no
// such interval. It uses Level, Family, Share and Consecutive of o.
//
// E. C. Fieller, "Some Problems in Interval Estimation", J. R. Stat. Soc. B 16(2), 1954.
func RemainingGap(triples []Triple, o Options) Remaining {
	o = o.withDefaults()
	var gaps, rests []float64
	for _, r := range triples {
		gaps, rests = append(gaps, r.Published-r.Baseline), append(rests, r.Controlled-r.Baseline)
	}
	r := Remaining{Level: 1 - o.alpha()}
	if len(triples) > 0 && !math.IsNaN(mean(gaps)+mean(rests)) {
		r.Gap, r.Share = mean(gaps), mean(rests)/mean(gaps)
	}
	switch {
	case len(triples) < MinRounds:
		r.Reason = fmt.Sprintf("%s; at least %d are needed", o.count(len(triples)), MinRounds)
	case math.IsNaN(mean(gaps) + mean(rests)):
		r.Reason = "a trial gave no measurement"
	default:
		interval := fieller
		if o.Consecutive {
			interval = fiellerOfCycles
		}
		lo, hi, ok := interval(rests, gaps, o.alpha())
		if !ok {
			r.Reason = "the gap itself is not established"
			break
		}
		r.CI = [2]float64{lo, hi}
	}
	if math.IsNaN(r.Share) || math.IsInf(r.Share, 0) { // no gap
		r.Share = 0
	}
	return r
}

// fieller returns the interval of mean(ys)/mean(xs) of independent values with confidence 1-alpha, or false if
// mean(xs) may be 0.
func fieller(ys, xs []float64, alpha float64) (lo, hi float64, ok bool) {
	n := float64(len(xs))
	t := student(len(xs), alpha)
	x, y := mean(xs), mean(ys)
	var xx, xy, yy float64
	for i := range xs {
		xx += (xs[i] - x) * (xs[i] - x)
		xy += (xs[i] - x) * (ys[i] - y)
		yy += (ys[i] - y) * (ys[i] - y)
	}
	f := t * t / n / (n - 1)
	// a·s² − 2b·s + c ≤ 0
	a, b, c := x*x-f*xx, x*y-f*xy, y*y-f*yy
	if !(a > 0) {
		return 0, 0, false
	}
	root := math.Sqrt(max(0, b*b-a*c))
	return (b - root) / a, (b + root) / a, true
}

// fiellerOfCycles is [fieller] for consecutive values, which may share something with their neighbours.
func fiellerOfCycles(ys, xs []float64, alpha float64) (lo, hi float64, ok bool) {
	remaining := func(share float64) (float64, uncertainty) {
		rests := make([]float64, len(ys))
		for i := range ys {
			rests[i] = ys[i] - share*xs[i]
		}
		return mean(rests), dependent(rests, nil)
	}
	if gap := mean(xs); !(dependent(xs, nil).beyond(gap) < alpha) {
		return 0, 0, false
	}
	best := mean(ys) / mean(xs)
	_, u := remaining(best)
	end := func(step float64) float64 {
		possible := func(distance float64) bool {
			m, u := remaining(best + distance)
			return u.beyond(m) >= alpha
		}
		in, out := 0.0, step
		for possible(out) {
			if in, out = out, 2*out; math.IsInf(out, 0) {
				return out
			}
		}
		for math.Abs(out-in) > 1e-4*math.Abs(step) {
			if middle := (in + out) / 2; possible(middle) {
				in = middle
			} else {
				out = middle
			}
		}
		return best + out
	}
	step := u.half(alpha) / math.Abs(mean(xs))
	if step == 0 { // identical values
		return best, best, true
	}
	lo, hi = end(-step), end(step)
	return lo, hi, !math.IsInf(lo, 0) && !math.IsInf(hi, 0)
}
