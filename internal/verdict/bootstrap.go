package verdict

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	// exactRounds is the largest number of values for which every resample is computed: 8 values
	// have 6,435 different resamples, fewer than would be drawn.
	exactRounds = 8
	// resamples is the number of resamples drawn for more values (Hesterberg 2015 asks for 10,000 or more).
	resamples = 10_000
)

// weighted is a value and its probability.
type weighted struct{ value, weight float64 }

// distribution is discrete and sorted by value; the weights sum to 1.
type distribution []weighted

// bootstrapMeans is the distribution of the mean of len(xs) draws with
// replacement from xs: exact for few values, else resampled from the seed.
func bootstrapMeans(xs []float64, seed uint64) distribution {
	if len(xs) > exactRounds {
		return drawnResamples(xs, seed)
	}
	d := everyResample(xs)
	slices.SortFunc(d, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	return d
}

// everyResample computes every multiset of len(xs) values of xs. A multiset represents n!/∏(count!)
// of the n^n resamples.
func everyResample(xs []float64) distribution {
	n := len(xs)
	var d distribution
	var choose func(i, left int, sum, weight float64)
	choose = func(i, left int, sum, weight float64) {
		if i == n-1 {
			for ; left > 0; left-- {
				sum += xs[i]
				weight /= float64(left) * float64(n)
			}
			d = append(d, weighted{sum / float64(n), weight})
			return
		}
		for count := 0; count <= left; count++ {
			choose(i+1, left-count, sum, weight)
			sum += xs[i]
			weight /= float64(count+1) * float64(n)
		}
	}
	choose(0, n, 0, factorial(n))
	return d
}

func drawnResamples(xs []float64, seed uint64) distribution {
	random := rand.New(rand.NewPCG(seed, uint64(len(xs))))
	means := make([]float64, resamples)
	for i := range means {
		var sum float64
		for range xs {
			sum += xs[random.IntN(len(xs))]
		}
		means[i] = sum / float64(len(xs))
	}
	slices.Sort(means)
	d := make(distribution, resamples)
	for i, m := range means {
		d[i] = weighted{m, 1.0 / resamples}
	}
	return d
}

// tails returns the values at which the cumulative probability, from below and from above, reaches
// p. A p below the first weight returns the ends of the distribution.
func (d distribution) tails(p float64) (lo, hi float64) {
	i, j := 0, len(d)-1
	for sum := d[i].weight; sum < p && i < len(d)-1; sum += d[i].weight {
		i++
	}
	for sum := d[j].weight; sum < p && j > 0; sum += d[j].weight {
		j--
	}
	return d[i].value, d[j].value
}

func factorial(n int) float64 {
	f := 1.0
	for i := 2; i <= n; i++ {
		f *= float64(i)
	}
	return f
}
