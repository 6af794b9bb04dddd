package verdict

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// fewExpected calls a backend: under that, Cochran's rule, chi-square's own
	// distribution is not trusted.
	fewExpected = 5
	// fewCalls of all trials together may be drawn by lot. Where more calls still
	// leave few for each backend, backends are so many that chi-square is right.
	fewCalls = 1000
	draws    = 10_000
)

// sample is the size of one trial: calls thrown at backends.
type sample struct {
	calls    uint64
	backends int
}

func (s sample) expected() float64 { return float64(s.calls) / float64(s.backends) }

// chance holds the probabilities that random routing gives a chi-square that is at
// most, and at least, the one seen. The one seen is in both.
type chance struct{ atMost, atLeast float64 }

// p is two-sided.
func (c chance) p() float64 { return min(1, 2*min(c.atMost, c.atLeast)) }

// chanceOf compares the sum of the trials' Pearson chi-squares with random routing.
// It is exact if few outcomes are as even as the one seen (which covers small
// trials and backends that take turns, where chi-square takes few values); drawn by
// lot if trials are small; else chi-square with a correction for continuity.
func chanceOf(trials [][]uint64) chance {
	var samples []sample
	var x float64
	for _, counts := range trials {
		s := sample{sum(counts), len(counts)}
		if s.calls > 0 && s.backends > 1 {
			samples = append(samples, s)
			x += chiSquare(counts)
		}
	}
	if len(samples) == 0 {
		return chance{1, 1}
	}
	if c, ok := enumerated(samples, x); ok {
		return c
	}
	if small(samples) {
		return drawn(samples, x)
	}
	return approximate(samples, x)
}

// chiSquare is Pearson's statistic against equal shares.
func chiSquare(counts []uint64) float64 {
	fair := sample{sum(counts), len(counts)}.expected()
	var x float64
	for _, c := range counts {
		x += (float64(c) - fair) * (float64(c) - fair) / fair
	}
	return x
}

func small(samples []sample) bool {
	var calls uint64
	few := false
	for _, s := range samples {
		calls += s.calls
		few = few || s.expected() < fewExpected
	}
	return few && calls <= fewCalls
}

// drawn throws the calls at random, 10,000 times, always from the same seed.
// The outcome seen counts as one more draw, so that no probability is 0.
func drawn(samples []sample, x float64) chance {
	random := rand.New(rand.NewPCG(1, 2))
	low, high := around(x)
	atMost, atLeast := 1, 1
	for range draws {
		var lot float64
		for _, s := range samples {
			lot += throw(s, random)
		}
		if lot <= high {
			atMost++
		}
		if lot >= low {
			atLeast++
		}
	}
	return chance{float64(atMost) / (draws + 1), float64(atLeast) / (draws + 1)}
}

// throw is the chi-square of one random trial.
func throw(s sample, random *rand.Rand) float64 {
	counts := make([]uint64, s.backends)
	for range s.calls {
		counts[random.IntN(s.backends)]++
	}
	return chiSquare(counts)
}

// approximate uses the chi-square distribution. Σx² of whole numbers with a given
// sum moves in steps of 2, hence chi-square in steps of 2k/n: half a step on either
// side covers the value seen, as Yates's correction does for a 2×2 table.
func approximate(samples []sample, x float64) chance {
	var freedom, half float64
	for _, s := range samples {
		freedom += float64(s.backends - 1)
		half += 1 / s.expected() / float64(len(samples))
	}
	d := distuv.ChiSquared{K: freedom}
	return chance{d.CDF(x + half), d.Survival(max(0, x-half))}
}

// around gives bounds within which a chi-square equals x but for rounding.
func around(x float64) (low, high float64) {
	slack := 1e-9 * (1 + x)
	return x - slack, x + slack
}
