package main

import (
	"fmt"
	"log"
)

// The closed loads whose figures all generators should agree on, because the servers wait before each response.
const (
	agreeCalls  = 4000
	agreeRounds = 3 // at most
)

// agreeShapes are those to the server for gRPC and to that for REST: the same calls in flight.
var agreeShapes = map[bool]shape{false: {10, 2}, true: {20, 1}}

// agreement is what one generator reported in one round.
type agreement struct {
	Generator string
	REST      bool
	Reported  outcome
	Rate      float64 // calls per second, without the time of the start
}

// agreements runs every generator that can on each server, in turn.
func agreements(peers []generator, s *servers, rounds int) (all []agreement, err error) {
	for round := range min(rounds, agreeRounds) {
		for _, rest := range []bool{false, true} {
			log.Printf("do they agree: round %d, REST %v", round+1, rest)
			var group []generator
			for _, g := range peers {
				if g.agree != nil && g.Plain == rest {
					group = append(group, g)
				}
			}
			for i := range group {
				one, err := group[(i+round)%len(group)].agreement(s.slow[rest], agreeShapes[rest])
				if err != nil {
					return nil, err
				}
				all = append(all, one)
			}
		}
	}
	return all, nil
}

func (g generator) agreement(addr string, s shape) (agreement, error) {
	start := usage{outcome: outcome{answered: 1}}
	if !g.Timed {
		var err error
		if start, err = g.use(g.agree(addr, 1, single), nil); err != nil {
			return agreement{}, err
		}
	}
	all, err := g.use(g.agree(addr, agreeCalls, s), nil)
	if err != nil {
		return agreement{}, err
	}
	calls := agreeCalls
	if g.Timed {
		calls = all.answered
	}
	if calls < 2 || all.answered != calls || start.answered != 1 {
		return agreement{}, fmt.Errorf("%s: the server answered %d of %d calls, and %d of 1 in the run with one call", g.Name, all.answered, calls, start.answered)
	}
	return agreement{g.Name, g.Plain, all.outcome, float64(calls-1) / (all.wall - start.wall).Seconds()}, nil
}
