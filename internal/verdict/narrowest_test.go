package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"rpclab/internal/testkit"
)

// trueDependences are those that the simulated values have. The interval has to keep its level for all of them.
var trueDependences = func() []dependence {
	all := []dependence{{0, 1}}
	for _, correlation := range []float64{0.3, 0.5, 0.7} {
		for _, share := range []float64{1, 0.75, 0.5, 0.25} {
			all = append(all, dependence{correlation, share})
		}
	}
	return all
}()

// values draws n consecutive values with a deviation of 1.
func (d dependence) values(n int, r *rand.Rand) []float64 {
	return all(times(math.Sqrt(d.share), autoregressive(d.correlation)), times(math.Sqrt(1-d.share), independent))(n, r)
}

// likelihood is the likelihood of values with a dependence and any mean and variance.
type likelihood struct {
	inverse *mat.SymDense // of the correlation matrix
	logDet  float64
}

func (d dependence) likelihood(n int) likelihood {
	correlations := mat.NewSymDense(n, nil)
	for i := range n {
		correlations.SetSym(i, i, 1)
		for j := range i {
			correlations.SetSym(i, j, d.share*math.Pow(d.correlation, float64(i-j)))
		}
	}
	var root mat.Cholesky
	root.Factorize(correlations) // it is positive definite
	l := likelihood{mat.NewSymDense(n, nil), root.LogDet()}
	_ = root.InverseTo(l.inverse)
	return l
}

// ofMean is the likelihood of some values as a function of their true mean, with all deviations alike probable on
// a logarithmic scale.
type ofMean struct{ squares, sum, count, logDet, n float64 }

func (l likelihood) of(values []float64) ofMean {
	f := ofMean{logDet: l.logDet, n: float64(len(values))}
	raw := l.inverse.RawSymmetric()
	for i, x := range values {
		row := raw.Data[i*raw.Stride : i*raw.Stride+len(values)] // only its upper triangle is set
		f.squares += x * x * row[i]
		f.sum += x * row[i]
		f.count += row[i]
		for j := i + 1; j < len(values); j++ {
			f.squares += 2 * x * values[j] * row[j]
			f.sum += (x + values[j]) * row[j]
			f.count += 2 * row[j]
		}
	}
	return f
}

// log returns the logarithm of the likelihood of a mean.
func (f ofMean) log(mean float64) float64 {
	return -f.logDet/2 - f.n/2*math.Log(f.squares-2*mean*f.sum+mean*mean*f.count)
}

// best returns the logarithm of the largest likelihood of any mean.
func (f ofMean) best() float64 { return f.log(f.sum / f.count) }

// narrowest is the set of means that is shortest for independent values, on average, among all sets that contain the
// true mean often enough at every dependence. It contains the means whose weighted likelihood is large enough, and
// the weights are such that no dependence has too many misses (U. K. Müller, A. Norets, "Credibility of Confidence
// Sets in Nonstandard Econometric Problems", Econometrica 84(6), 2016).
type narrowest struct {
	weights []float64
	atLeast float64 // 1-level of a Student's t interval that the set always contains; 0: none
}

// run is simulated values, and their likelihood by dependence.
type run struct {
	values []float64
	likely []ofMean
}

func (s narrowest) contains(r run, at float64) bool {
	if s.atLeast > 0 && math.Abs(mean(r.values)-at) <= student(len(r.values), s.atLeast)*deviation(r.values)/math.Sqrt(float64(len(r.values))) {
		return true
	}
	sum, independent := 0.0, r.likely[0].best()
	for i, w := range s.weights {
		sum += w * math.Exp(r.likely[i].log(at)-independent)
	}
	return sum >= 1
}

// narrowestFor searches for the weights. runs are simulated runs of each true dependence, with a mean of 0.
func narrowestFor(runs [][]run, misses, atLeast float64) narrowest {
	s := narrowest{make([]float64, len(runs)), atLeast}
	terms := make([][][]float64, len(runs)) // of the sum at the true mean, in runs whose Student's interval misses it
	for k, of := range runs {
		s.weights[k] = 0.05
		for _, r := range of {
			if atLeast > 0 && !studentMisses(r.values, atLeast) {
				continue
			}
			row := make([]float64, len(runs))
			for i, f := range r.likely {
				row[i] = math.Exp(f.log(0) - r.likely[0].best())
			}
			terms[k] = append(terms[k], row)
		}
	}
	for step := range 400 {
		rate := 0.5 * math.Pow(0.5, float64(step/100))
		seen := make([]float64, len(runs))
		for k, rows := range terms {
			for _, row := range rows {
				sum := 0.0
				for i, term := range row {
					sum += s.weights[i] * term
				}
				if sum < 1 {
					seen[k] += 1 / float64(len(runs[k]))
				}
			}
		}
		for k := range s.weights {
			s.weights[k] = max(1e-8, s.weights[k]*math.Exp(rate*min(2, seen[k]/misses-1)))
		}
	}
	return s
}

// half returns half of the length of the set.
func (s narrowest) half(r run) float64 {
	step := 0.05 * deviation(r.values) / math.Sqrt(float64(len(r.values)))
	m, inside := mean(r.values), 0
	for i := range 1201 {
		if s.contains(r, m+float64(i-600)*step) {
			inside++
		}
	}
	return float64(inside) * step / 2
}

// TestPowerOfTheNarrowestInterval compares the interval of neighbouring cycles with the narrowest that any method can
// have that keeps the level at the same dependences. No other arms help here.
func TestPowerOfTheNarrowestInterval(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	rows := []string{
		"| verdicts | cycles | misses allowed | most misses seen | width | narrowest possible | narrowest over Student's | independent values covered | by the narrowest | by the narrowest over Student's |",
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
	}
	if *testkit.Sims < 1000 {
		return // the search for the narrowest interval needs thousands of runs
	}
	for _, n := range []int{12, 20, 40} {
		random := rand.New(rand.NewPCG(69, uint64(n)))
		var likelihoods []likelihood
		for _, d := range trueDependences {
			likelihoods = append(likelihoods, d.likelihood(n))
		}
		runs := make([][]run, len(trueDependences))
		for k, d := range trueDependences {
			for range 5 * *testkit.Sims {
				r := run{values: d.values(n, random)}
				for _, l := range likelihoods {
					r.likely = append(r.likely, l.of(r.values))
				}
				runs[k] = append(runs[k], r)
			}
		}
		for _, family := range []int{1, 4, 12} {
			alpha := 0.05 / float64(family)
			allowed := alpha
			if family == 1 {
				allowed = 0.07 // a single interval covers at least 93 %
			}
			missed := make([]float64, len(runs)) // by dependence, in percent
			for k, of := range runs {
				for _, r := range of {
					if studentMisses(r.values, alpha) && dependent(r.values, nil).beyond(mean(r.values)) < alpha {
						missed[k] += 100 / float64(len(of))
					}
				}
			}
			most := 0.0
			for _, m := range missed {
				most = max(most, m)
			}
			sets := []narrowest{narrowestFor(runs, allowed, 0), narrowestFor(runs, allowed, alpha)}
			var width, plain float64
			var widths, held [2]float64
			for i, r := range runs[0] {
				for k, s := range sets {
					if s.contains(r, 0) {
						held[k] += 100 / float64(len(runs[0]))
					}
				}
				if i < 500 {
					width += dependent(r.values, nil).half(alpha)
					plain += student(n, alpha) * deviation(r.values) / math.Sqrt(float64(n))
					for k, s := range sets {
						widths[k] += s.half(r)
					}
				}
			}
			if width > 1.3*widths[1] {
				t.Errorf("%d verdicts, %d cycles: the interval is %.2f times as wide as the narrowest possible", family, n, width/widths[1])
			}
			rows = append(rows, fmt.Sprintf("| %d | %d | %.2f %% | %.2f %% | %.2f | %.2f | %.2f | %.2f %% | %.2f %% | %.2f %% |", family, n, 100*allowed, most,
				width/plain, widths[0]/plain, widths[1]/plain, 100-missed[0], held[0], held[1]))
		}
	}
	testkit.Table(t, page, "narrowest", rows)
}
