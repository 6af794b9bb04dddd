package verdict

import (
	"cmp"
	"math"
	"slices"
)

// uncertainty is how far a mean may be from the truth: a mixture of Student's t distributions with the same
// degrees of freedom. Independent values have one component; consecutive ones have one for each dependence
// that may explain them.
type uncertainty struct {
	parts   []part
	freedom float64
}

// part is a standard error and its probability; the probabilities sum to 1.
type part struct{ err, weight float64 }

// beyond returns the probability that the mean is farther than x from the truth, on either side.
func (u uncertainty) beyond(x float64) float64 {
	var p float64
	for _, part := range u.parts {
		switch {
		case part.weight < 1e-9: // saves most of the time
		case part.err > 0:
			p += part.weight * 2 * studentBelow(-math.Abs(x)/part.err, u.freedom)
		case x == 0:
			p += part.weight
		}
	}
	return p
}

// variance returns the mean of the squares of the standard errors.
func (u uncertainty) variance() (mean float64) {
	for _, part := range u.parts {
		mean += part.weight * square(part.err)
	}
	return mean
}

// merged returns the uncertainty with one part in place of all whose standard errors differ by at most 1 %: the
// largest of them.
func (u uncertainty) merged() uncertainty {
	slices.SortFunc(u.parts, func(x, y part) int { return cmp.Compare(y.err, x.err) })
	few := uncertainty{freedom: u.freedom}
	for _, p := range u.parts {
		if last := len(few.parts) - 1; last >= 0 && p.err >= 0.99*few.parts[last].err {
			few.parts[last].weight += p.weight
			continue
		}
		few.parts = append(few.parts, p)
	}
	return few
}

// half returns half of the width of the interval of level 1-alpha.
func (u uncertainty) half(alpha float64) float64 {
	t := studentOf(u.freedom, alpha)
	lo, hi := math.Inf(1), 0.0
	for _, part := range u.parts {
		lo, hi = min(lo, t*part.err), max(hi, t*part.err)
	}
	for hi-lo > 1e-4*hi { // far below the resolution of a histogram
		if middle := (lo + hi) / 2; u.beyond(middle) > alpha {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}

// student returns the standard error and the degrees of freedom of the Student's t interval that is
// as wide as the one of level 1-alpha. Fewer degrees of freedom than those of u express that the dependence
// is not known well; they grow with the number of values, and so do those that this returns.
func (u uncertainty) student(alpha float64) (err, freedom float64) {
	if len(u.parts) == 1 {
		return u.parts[0].err, u.freedom
	}
	for _, part := range u.parts {
		err += part.weight * part.err
	}
	half := u.half(alpha)
	lo, hi := 1.0, u.freedom
	if half <= studentOf(hi, alpha)*err {
		return half / studentOf(hi, alpha), hi
	}
	for range 30 {
		if middle := (lo + hi) / 2; studentOf(middle, alpha)*err > half {
			lo = middle
		} else {
			hi = middle
		}
	}
	return half / studentOf(hi, alpha), hi
}
