package verdict

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

const (
	// fewExpected is the number of expected calls per backend below which the chi-square
	// distribution is not used (Cochran's rule).
	fewExpected = 5
	// fewCalls is the largest number of calls, of all trials together, that is simulated. With
	// more calls but few per backend there are so many backends that chi-square is accurate.
	fewCalls = 1000
	draws    = 10_000
)

// chance holds the probabilities that random assignment gives a chi-square at most, and at least, the
// observed one.
type chance struct{ atMost, atLeast float64 }

// p is two-sided.
func (c chance) p() float64 { return min(1, 2*min(c.atMost, c.atLeast)) }

// chanceOf compares the sum of the trials' Pearson chi-squares with random assignment. It is exact if few
// outcomes are as even as the observed one, which covers small trials and round robin. Otherwise it
// simulates small trials, and uses chi-square with a continuity correction for others.
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

// enumerated computes the exact probabilities, or returns false if there are too many outcomes.
func enumerated(samples []sample, x float64) (chance, bool) {
	low, high := around(x)
	l := &lattice{samples: samples, low: low, high: high}
	if !l.trial(0, 0, 0) {
		return chance{}, false
	}
	return chance{min(1, l.atMost), max(l.equal, 1-l.atMost+l.equal)}, true
}

// drawn simulates 10,000 random assignments, always from the same seed. The observed outcome counts as one
// more, so that no probability is 0.
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

// throw returns the chi-square of one random assignment.
func throw(s sample, random *rand.Rand) float64 {
	counts := make([]uint64, s.backends)
	for range s.calls {
		counts[random.IntN(s.backends)]++
	}
	return chiSquare(counts)
}

// approximate uses the chi-square distribution. Σx² of whole numbers with a given
// sum moves in steps of 2, hence chi-square in steps of 2k/n. Half a step on
// either side covers the observed value, like Yates's correction for a 2×2 table.
func approximate(samples []sample, x float64) chance {
	var freedom, half float64
	for _, s := range samples {
		freedom += float64(s.backends - 1)
		half += 1 / s.expected() / float64(len(samples))
	}
	return chance{mathext.GammaIncReg(freedom/2, (x+half)/2), mathext.GammaIncRegComp(freedom/2, max(0, x-half)/2)}
}

// around returns bounds within which a chi-square equals x except for rounding.
func around(x float64) (low, high float64) {
	slack := 1e-9 * (1 + x)
	return x - slack, x + slack
}

func sum(counts []uint64) uint64 {
	var total uint64
	for _, c := range counts {
		total += c
	}
	return total
}
