package main

import (
	"fmt"
	"log"
	"time"

	"rpclab/internal/measure"
)

// cost is the cost of one generator in one setting in one round.
type cost struct {
	Generator string
	Target    int
	Shape     shape
	// PerCall is the user and system CPU time, less that of the start. A generator that uses CPU
	// time after the calls reports the time of its calls itself.
	PerCall time.Duration
	Server  time.Duration // CPU time of the server per call
	Rate    float64       // calls per second, without the time of the start
	Peak    uint64        // bytes
	Start   time.Duration // wall time of a run with one call; 0: not measured
}

// costs runs every generator in every setting, round by round, so that a change of the machine's
// speed affects all generators. Each round begins with another generator, and ends with a
// measurement of lateness.
func costs(peers []generator, s *servers, rounds int) (all []cost, late []time.Duration, err error) {
	for round := range rounds {
		log.Printf("round %d of %d", round+1, rounds)
		for target := range targets {
			group := generatorsFor(peers, target)
			for _, shape := range shapes(target) {
				for i := range group {
					c, err := group[(i+round)%len(group)].cost(s, target, shape)
					if err != nil {
						return nil, nil, err
					}
					all = append(all, c)
				}
			}
		}
		p99, err := lateness(peers, s)
		if err != nil {
			return nil, nil, err
		}
		late = append(late, p99)
	}
	return all, late, nil
}

func (g generator) cost(s *servers, target int, shape shape) (cost, error) {
	addr, calls := g.address(s, target), g.Calls[target%2]
	start := usage{outcome: outcome{answered: 1}}
	if !g.Timed {
		var err error
		if start, err = g.use(g.run(addr, 1, single), nil); err != nil {
			return cost{}, err
		}
	}
	server := s.at(addr).Pid()
	before, err := measure.CPU(server)
	if err != nil {
		return cost{}, err
	}
	all, err := g.use(g.run(addr, calls, shape), nil)
	if err != nil {
		return cost{}, err
	}
	after, err := measure.CPU(server)
	if err != nil {
		return cost{}, err
	}
	if g.Timed {
		calls = all.answered
	}
	if calls < 2 || start.answered != 1 || all.answered != calls {
		return cost{}, fmt.Errorf("%s: the server answered %d of %d calls, and %d of 1 in the run with one call", g.Name, all.answered, calls, start.answered)
	}
	perCall := all.perCall
	if perCall == 0 {
		perCall = (all.cpu - start.cpu) / time.Duration(calls-1)
	}
	return cost{
		Generator: g.Name, Target: target, Shape: shape, Peak: all.peak, Start: start.wall,
		Server:  (after - before) / time.Duration(calls),
		PerCall: perCall,
		Rate:    float64(calls-1) / (all.wall - start.wall).Seconds(),
	}, nil
}
