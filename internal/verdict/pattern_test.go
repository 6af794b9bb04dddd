package verdict

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPatternOf(t *testing.T) {
	times := func(n int, counts ...uint64) [][]uint64 { return slices.Repeat([][]uint64{counts}, n) }
	for name, c := range map[string]struct {
		trials [][]uint64
		want   Pattern
	}{
		"one connection":                  {times(5, 0, 1000, 0), OneTakesAll},
		"one connection, another each":    {[][]uint64{{90, 0, 0}, {0, 90, 0}}, OneTakesAll},
		"one connection in two of three":  {[][]uint64{{90, 0, 0}, {0, 90, 0}, {30, 30, 30}}, Uneven},
		"a pool that misses one":          {times(4, 500, 500, 0), Uneven},
		"round robin":                     {times(5, 334, 333, 333), TakesTurns},
		"round robin, three small trials": {times(3, 34, 33, 33), TakesTurns},
		"round robin over two":            {times(4, 500, 500), TakesTurns},
		"round robin, one trial only":     {times(1, 334, 333, 333), TooFewCalls},
		"not round robin, one trial only": {times(1, 350, 330, 320), AsChance},
		"one large trial":                 {times(1, 3334, 3333, 3333), TakesTurns},
		"random":                          {[][]uint64{{350, 330, 320}, {310, 345, 345}, {330, 325, 345}, {352, 318, 330}}, AsChance},
		"three calls":                     {times(1, 3, 0, 0), TooFewCalls},
		"ten calls":                       {times(1, 4, 3, 3), TooFewCalls},
		"no calls":                        {times(3, 0, 0, 0), TooFewCalls},
		"one backend":                     {times(3, 500), TooFewCalls},
		"no trials":                       {nil, TooFewCalls},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PatternOf(c.trials); got != c.want {
				t.Errorf("the pattern is %s, want %s (%+v)", got, c.want, chanceOf(c.trials))
			}
		})
	}
}

func TestRandomAssignmentIsRecognized(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	wrong := 0
	const runs = 500
	for range runs {
		trials := [][]uint64{thrown(1000, 3, random), thrown(1000, 3, random), thrown(1000, 3, random), thrown(1000, 3, random)}
		if PatternOf(trials) != AsChance {
			wrong++
		}
	}
	if wrong > 4 { // 0.5 expected; more than 4 have a probability of 1 in 6,000
		t.Errorf("random assignment was not recognized in %d of %d runs, want at most 4", wrong, runs)
	}
}
