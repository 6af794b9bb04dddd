package verdict

import (
	"math"
	"math/rand/v2"
	"testing"

	"rpclab/internal/testkit"
)

// TestCoverageInOrder simulates runs of three pairs. They test a second metric, which does not differ, if the
// first is settled. Each test uses the whole share of its pair, yet at most 5 % of runs may have a wrong
// decision. The first metric differs by nothing, by just over the margin, or by more. The noise of the two
// metrics is correlated, or only its size is.
func TestCoverageInOrder(t *testing.T) {
	t.Parallel() // each test has its own random numbers
	const arms, rounds, margin = 3, 5, 0.03
	for _, ratio := range []float64{1, 1.0001 + margin, 1.1} {
		for _, noise := range []float64{0.01, 0.03} {
			for _, correlation := range []float64{-0.95, 0, 0.95} {
				random := rand.New(rand.NewPCG(uint64(1000*ratio), uint64(1000*noise*(2+correlation))))
				wrong := 0
				for range *testkit.Sims {
					if wrongInOrder(random, arms, rounds, ratio, noise, correlation) {
						wrong++
					}
				}
				if testkit.TooMany(wrong, *testkit.Sims, 0.05) {
					t.Errorf("ratio %g, noise %g, correlation %g: a wrong decision in %d of %d runs, want at most 5 %%", ratio, noise, correlation, wrong, *testkit.Sims)
				}
			}
		}
	}
}

// wrongInOrder reports whether a simulated run has a wrong decision.
func wrongInOrder(r *rand.Rand, arms, rounds int, ratio, noise, correlation float64) (wrong bool) {
	for range arms {
		first, second := make([]Pair, rounds), make([]Pair, rounds)
		for i := range first {
			size := math.Exp(0.5 * r.NormFloat64()) // of the noise in this round
			x, y := r.NormFloat64(), r.NormFloat64()
			y = correlation*x + math.Sqrt(1-correlation*correlation)*y
			first[i] = Pair{A: ratio * math.Exp(noise*size*x), B: 1}
			second[i] = Pair{A: math.Exp(2 * noise * size * y), B: 1}
		}
		o := Options{Family: arms, LowerIsBetter: true}
		switch d := Compare(first, o).Decision; d {
		case Undecided:
			continue
		case Worse:
			wrong = wrong || ratio == 1
		case Equivalent:
			wrong = wrong || ratio != 1
		default:
			wrong = true
		}
		d := Compare(second, o).Decision
		wrong = wrong || d == Better || d == Worse
	}
	return wrong
}
