package verdict

import "math"

const (
	// othersRounds is how many rounds the variance of the other arms counts for.
	othersRounds = 3
	// othersFreedom is how many degrees of freedom many other arms add. With 3, the error would exceed 5 %
	// where the baseline is the noisy arm.
	othersFreedom = 2
)

// contrasts returns what the other arms show about the noise of a log ratio: for each of them, its distance
// from the mean of the arms before it. If all arms have the same noise, they are independent of the log
// ratio and of one another, and have its variance. An arm with a value that cannot be used is left out.
func contrasts(pairs []Pair, others [][]float64) [][]float64 {
	sums, arms := make([]float64, len(pairs)), 2.0
	for i, p := range pairs {
		sums[i] = math.Log(p.A) + math.Log(p.B)
	}
	var all [][]float64
	for _, values := range others {
		if len(values) != len(pairs) || len(pairs) < 2 || !usable(values) {
			continue
		}
		contrast := make([]float64, len(values))
		scale := math.Sqrt(2 * arms / (arms + 1))
		for i, x := range values {
			contrast[i] = scale * (math.Log(x) - sums[i]/arms)
			sums[i] += math.Log(x)
		}
		arms++
		if deviation(contrast) > 0 {
			all = append(all, contrast)
		}
	}
	return all
}

func usable(values []float64) bool {
	for _, x := range values {
		if !(x > 0) || math.IsInf(x, 1) {
			return false
		}
	}
	return true
}

// shared returns the variance of log ratios with this variance and degrees of freedom, and its degrees of
// freedom. Few other arms add fewer degrees of freedom. The variance is never under the pair's own. A pooled
// variance would be, and would make the intervals of a noisy arm too narrow. Compare G. K. Smyth, "Linear
// Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray Experiments", Stat.
// Appl. Genet. Mol. Biol. 3(1), 2004.
func shared(own, freedom float64, contrasts [][]float64) (float64, float64) {
	if len(contrasts) == 0 {
		return own, freedom
	}
	var others float64
	for _, c := range contrasts {
		others += square(deviation(c)) / float64(len(contrasts))
	}
	mixed := (freedom*own + othersRounds*others) / (freedom + othersRounds)
	m := float64(len(contrasts))
	return max(own, mixed), freedom + othersFreedom*m/(m+1)
}
