package verdict

import (
	"math"
	"slices"
	"sync"
)

// dependence is a hypothesis about consecutive values: a share of their variance follows an autoregressive
// process of order 1, and the rest is independent from value to value.
type dependence struct {
	correlation float64 // of neighbours in the autoregressive part, in [0, 1)
	share       float64 // of the variance that is autoregressive
}

// dependences are all hypotheses. Correlations end at 0.9, so that the interval keeps its level for true
// correlations up to 0.7 (docs/decisions/0032-cycles.md).
var dependences = func() (all []dependence) {
	for tenths := range 10 {
		for _, share := range []float64{1, 0.75, 0.5, 0.25} {
			all = append(all, dependence{float64(tenths) / 10, share})
		}
	}
	return all
}()

// density returns the spectral density at a frequency in radians per value, of which cos is the cosine. It is
// relative to the density of independent values with the same variance. At frequency 0 it is the factor by
// which the variance of a mean of many values exceeds that of independent values.
func (d dependence) density(cos float64) float64 {
	r := d.correlation
	return d.share*(1-r*r)/(1+r*r-2*r*cos) + 1 - d.share
}

// ownCycles is the number of consecutive values from which on other arms no longer influence how probable a
// dependence is.
const ownCycles = 80

// fewCycles is the number of consecutive values from which on every dependence is equally probable beforehand.
const fewCycles = 40

// beforehand returns how probable each dependence is before n values are known. A few values only tell independence
// from a strong dependence, and the mixture of these two covers what lies between. So with few values the
// probability moves to them: the interval of independent values becomes narrower, and that of dependent values keeps
// its level (docs/decisions/0032-cycles.md).
func beforehand(n int) []float64 {
	even := min(1, square(float64(n)/fewCycles))
	strong := max(0, 0.45-float64(n)/100)
	all := make([]float64, len(dependences))
	for i, d := range dependences {
		all[i] = even / float64(len(dependences))
		switch {
		case d.correlation == 0: // four dependences
			all[i] += (1 - even) * (1 - strong) / 4
		case d.correlation >= 0.7 && (d.share == 0.75 || d.share == 0.5): // six
			all[i] += (1 - even) * strong / 6
		}
	}
	return all
}

// caution returns the logarithm of the weight of a dependence before n values are known: the wider its interval, the
// larger. Many values exclude all but a few dependences. Without caution those with narrow intervals win too often
// if a part of the noise is dependent. Few values exclude none, so caution would only cost power.
func (d dependence) caution(n int) float64 {
	return min(float64(n), 200) / 400 * math.Log(d.density(1))
}

// dependent returns the uncertainty of the mean of consecutive values. Each dependence implies a standard
// error. Its weight is how well it explains the values, times how probable it was before. That probability
// mixes what the contrasts of other arms show with that of [beforehand], because this pair may differ from the
// other arms, and includes caution. A few values change the weights little, so their interval is wide.
func dependent(values []float64, contrasts [][]float64) uncertainty {
	n := float64(len(values))
	shown := make([]float64, len(dependences))
	for _, c := range contrasts {
		evidence, _ := explained(transform(c), 1, len(c))
		for i, e := range evidence {
			shown[i] += e
		}
	}
	arms := float64(len(contrasts)) // one shows the dependence of the others half as well as many
	own := 1 - max(0, 1-n/ownCycles)*arms/(arms+1)
	before := beforehand(len(values))
	for i, p := range normalized(shown) {
		before[i] = math.Log(own*before[i]+(1-own)*p) + dependences[i].caution(len(values))
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
	// The line is almost wholly in the first coefficient. The other coefficients show the dependence.
	evidence, variances := explained(of[1:], 2, len(values))
	return slope, weighed(evidence, float64(len(of)-1), func(i int) (variance float64) {
		for j, l := range line {
			variance += variances[i] * square(l/squares) * dependences[i].density(frequency(j+1, len(values)))
		}
		return variance
	})
}

// explained returns two figures for each dependence: how well it explains n values, as the logarithm of a
// likelihood, and the variance of the values if it is true. coefficients are those of the values' transform,
// the first of them with number from. They are nearly independent, with variances proportional to the spectral
// density (P. Whittle, "Estimation and Information in Stationary Time Series", Arkiv för Matematik 2, 1953).
func explained(coefficients []float64, from, n int) (evidence, variances []float64) {
	freedom := float64(len(coefficients))
	for _, density := range spectrumOf(n).densities {
		variance, logs := 0.0, density.logs
		for _, inverse := range density.inverses[:from-1] {
			logs += math.Log(inverse)
		}
		for j, inverse := range density.inverses[from-1:] {
			variance += coefficients[j] * coefficients[j] * inverse
		}
		variance /= freedom
		variances = append(variances, variance)
		evidence = append(evidence, -logs/2-freedom/2*math.Log(variance))
	}
	return evidence, variances
}

// weighed returns the uncertainty of an estimate from the evidence for each dependence. variance returns the
// variance of the estimate if dependence i is true.
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
	n, table := len(values), spectrumOf(len(values)).cosines
	all := make([]float64, n-1)
	for j := range all {
		at := j + 1 // (j+1)·(2i+1), modulo the length of the table
		for _, x := range values {
			all[j] += (x - values[0]) * table[at]
			if at += 2 * (j + 1); at >= len(table) {
				at -= len(table)
			}
		}
	}
	return all
}

// spectrum holds what depends only on the number of values.
type spectrum struct {
	cosines   []float64 // of the transform: a whole period in 4n steps
	densities []densities
}

// densities are the spectral densities of a dependence at the coefficients of the transform.
type densities struct {
	inverses []float64
	logs     float64 // sum of their logarithms
}

// spectra caches each [spectrum] of at most maxCached values, 10 MB in all, because all metrics and pairs of a run
// have about as many values.
var spectra sync.Map

const maxCached = 256

func spectrumOf(n int) *spectrum {
	if cached, ok := spectra.Load(n); ok {
		return cached.(*spectrum)
	}
	s := &spectrum{cosines: make([]float64, 4*n)}
	for i := range s.cosines {
		s.cosines[i] = math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(i)/float64(2*n))
	}
	for _, d := range dependences {
		var of densities
		for j := 1; j < n; j++ {
			density := d.density(frequency(j, n))
			of.inverses, of.logs = append(of.inverses, 1/density), of.logs+math.Log(density)
		}
		s.densities = append(s.densities, of)
	}
	if n <= maxCached {
		spectra.Store(n, s)
	}
	return s
}
