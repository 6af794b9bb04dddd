package verdict

import (
	"fmt"
	"math"
)

// Triple holds the values of one metric of a published arm, of the same without its
// confound, and of the arm that both are compared with, in one round.
type Triple struct{ Published, Controlled, Baseline float64 }

// Remaining is how much of a published gap is still there without the confound.
type Remaining struct {
	Gap   float64 // published less baseline, the mean over rounds
	Share float64 // of the gap: controlled less baseline
	// CI is the interval of Share at Level; zero where Reason says why there is none.
	CI     [2]float64
	Level  float64
	Reason string
}

// RemainingGap accounts for a confound, by rounds that pair the three arms. The share is a
// quotient of two means, and its interval is Fieller's: all shares s for which the mean
// of (controlled − baseline) − s·(published − baseline) may be 0 by Student's t. When
// the gap itself may be 0 there is no such interval. Of o, Level and Family count.
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
		r.Reason = fmt.Sprintf("%s; at least %d are needed", rounds(len(triples)), MinRounds)
	case math.IsNaN(mean(gaps) + mean(rests)):
		r.Reason = "a trial gave no measurement"
	default:
		lo, hi, ok := fieller(rests, gaps, o.alpha())
		if !ok {
			r.Reason = "the gap itself is not established"
			break
		}
		r.CI = [2]float64{lo, hi}
	}
	if math.IsNaN(r.Share) || math.IsInf(r.Share, 0) { // of no gap at all
		r.Share = 0
	}
	return r
}

// fieller covers mean(ys)/mean(xs) with confidence 1-alpha; false: mean(xs) may be 0.
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
