package verdict

import (
	"math"
	"slices"
)

// dependence is what neighbouring values share: a part of their variance follows an autoregressive process
// of order 1, the rest is independent from value to value.
type dependence struct {
	correlation float64 // of neighbours in that part, in [0, 1)
	share       float64 // that part of the variance
}

// dependences are equally probable before the values are known. They end at 0.9, so that the interval
// holds its promise for correlations up to 0.7 (docs/decisions/0032-cycles.md).
var dependences = func() (all []dependence) {
	for tenths := range 10 {
		correlation := float64(tenths) / 10
		all = append(all, dependence{correlation, 1}, dependence{correlation, 0.5})
	}
	return all
}()

// density is the spectral density, relative to that of independent values with the same variance, at the
// frequency (in radians per value) with that cosine. At frequency 0 it is the factor by which the variance
// of a mean of many values exceeds that of independent ones.
func (d dependence) density(cos float64) float64 {
	r := d.correlation
	return d.share*(1-r*r)/(1+r*r-2*r*cos) + 1 - d.share
}

// ownCycles is the number of consecutive values from which on other arms have no say in their dependence.
const ownCycles = 40

// dependent returns the uncertainty of the mean of consecutive values: each dependence implies a standard
// error, and is as probable as it explains the values. Before the values are known it is as probable as the
// contrasts of other arms say, mixed with equal probabilities, because this pair may differ from them. Few
// values change these little, so the interval is wide.
func dependent(values []float64, contrasts [][]float64) uncertainty {
	n := float64(len(values))
	before := make([]float64, len(dependences))
	for _, c := range contrasts {
		evidence, _ := explained(transform(c), 1, len(c))
		for i, e := range evidence {
			before[i] += e
		}
	}
	own := min(1, n/ownCycles)
	for i, p := range normalized(before) {
		before[i] = math.Log(own/float64(len(before)) + (1-own)*p)
	}
	evidence, variances := explained(transform(values), 1, len(values))
	for i := range evidence {
		evidence[i] += before[i]
	}
	return weighed(evidence, n-1, func(i int) float64 { return variances[i] * dependences[i].density(1) / n })
}

// trending returns the slope of the line through consecutive values, per value, and its uncertainty.
func trending(values []float64) (slope float64, u uncertainty) {
	line := make([]float64, len(values))
	for i := range line {
		line[i] = float64(i)
	}
	of, line := transform(values), transform(line)
	var squares float64
	for j, l := range line {
		slope += of[j] * l
		squares += l * l
	}
	slope /= squares
	for j, l := range line {
		of[j] -= slope * l
	}
	// The line is almost wholly in the first coefficient, so the others have to show the dependence.
	evidence, variances := explained(of[1:], 2, len(values))
	return slope, weighed(evidence, float64(len(of)-1), func(i int) (variance float64) {
		for j, l := range line {
			variance += variances[i] * square(l/squares) * dependences[i].density(frequency(j+1, len(values)))
		}
		return variance
	})
}

// explained returns how well each dependence explains n values, as the logarithm of a likelihood, and the
// variance of the values if it is true. coefficients are those of their transform from the given one on.
// They are nearly independent, with variances proportional to the spectral density (P. Whittle,
// "Estimation and Information in Stationary Time Series", Arkiv för Matematik 2, 1953).
func explained(coefficients []float64, from, n int) (evidence, variances []float64) {
	freedom := float64(len(coefficients))
	cosines := make([]float64, len(coefficients))
	for j := range cosines {
		cosines[j] = frequency(from+j, n)
	}
	for _, d := range dependences {
		var variance, logs float64
		for j, c := range coefficients {
			density := d.density(cosines[j])
			variance += c * c / density / freedom
			logs += math.Log(density)
		}
		variances = append(variances, variance)
		evidence = append(evidence, -logs/2-freedom/2*math.Log(variance))
	}
	return evidence, variances
}

// weighed returns an uncertainty from the evidence for each dependence and the variance of the estimate
// if it is true.
func weighed(evidence []float64, freedom float64, variance func(int) float64) uncertainty {
	u := uncertainty{freedom: freedom}
	if math.IsInf(evidence[0], 1) { // identical values
		u.parts = []part{{0, 1}}
		return u
	}
	for i, p := range normalized(evidence) {
		u.parts = append(u.parts, part{math.Sqrt(variance(i)), p})
	}
	return u
}

// normalized returns the probabilities that are proportional to the exponentials of logs.
func normalized(logs []float64) []float64 {
	most, total := slices.Max(logs), 0.0
	all := make([]float64, len(logs))
	for i, l := range logs {
		all[i] = math.Exp(l - most)
		total += all[i]
	}
	for i := range all {
		all[i] /= total
	}
	return all
}

// frequency is the cosine of the frequency of coefficient j of n values.
func frequency(j, n int) float64 { return math.Cos(math.Pi * float64(j) / float64(n)) }

// transform is the orthonormal cosine transform (DCT-II) of the values without its first coefficient, the
// mean: coefficient j holds what varies with a period of 2n/j values.
func transform(values []float64) []float64 {
	n := len(values)
	table := make([]float64, 4*n)
	for i := range table {
		table[i] = math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(i)/float64(2*n))
	}
	all := make([]float64, n-1)
	for j := range all {
		for i, x := range values {
			all[j] += (x - values[0]) * table[(j+1)*(2*i+1)%(4*n)]
		}
	}
	return all
}
