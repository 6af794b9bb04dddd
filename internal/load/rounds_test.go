package load

import (
	"slices"
	"testing"
	"time"

	"rpclab/internal/pace"
)

func TestEachRoundHasOtherRandomArrivals(t *testing.T) {
	var arrivals [][]time.Duration
	for round := range 3 {
		plan, err := with(func(s *Settings) { s.Rate, s.Poisson, s.Seed = 100, true, 7 }).ofRound(round).Pace()
		if err != nil {
			t.Fatal(err)
		}
		arrivals = append(arrivals, firstArrivals(plan))
	}
	for i, one := range arrivals {
		for _, other := range arrivals[:i] {
			if slices.Equal(one, other) {
				t.Errorf("calls of two rounds are due at %v, want other times in each round", one)
			}
		}
	}
}

func firstArrivals(plan pace.Pace) (all []time.Duration) {
	var due time.Duration
	for n := range uint64(10) {
		due, _ = plan.Next(n, due)
		all = append(all, due)
	}
	return all
}
