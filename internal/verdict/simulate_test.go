package verdict

import (
	"math"
	"math/rand/v2"
)

// noise is a distribution of the value of a trial of an arm whose true value is 100.
type noise struct {
	name string
	draw func(*rand.Rand) float64
}

func logNormal(share float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return 100 * math.Exp(share*r.NormFloat64()) }
}

// noises are those that both arms of an A/A comparison have.
var noises = []noise{
	{"log-normal 5 %", logNormal(0.05)},
	{"log-normal 30 %", logNormal(0.30)},
	{"exponential tail of 20 %", func(r *rand.Rand) float64 { return 100 + 20*r.ExpFloat64() }},
	{"2 %, and 1 trial in 10 takes twice as long", func(r *rand.Rand) float64 {
		v := logNormal(0.02)(r)
		if r.IntN(10) == 0 {
			v *= 2
		}
		return v
	}},
}

// simulate returns the pairs of a comparison. The two arms of a round share a drift.
func simulate(rounds int, a, b func(*rand.Rand) float64, r *rand.Rand) []Pair {
	pairs := make([]Pair, rounds)
	for i := range pairs {
		drift := math.Exp(0.2 * r.NormFloat64())
		pairs[i] = Pair{A: drift * a(r), B: drift * b(r)}
	}
	return pairs
}
