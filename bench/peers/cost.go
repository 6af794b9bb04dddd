package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/process"
)

// longest bounds one run.
const longest = 30 * time.Second

// used is what one run took, seen from outside.
type used struct {
	outcome
	cpu, wall time.Duration
	peak      uint64 // bytes of resident memory
}

// cost is what one generator did in one setting in one round.
type cost struct {
	Generator string
	Target    int
	Shape     shape
	// PerCall is CPU, user and system, less what it takes to start. Who takes much for
	// something else after the calls says itself what they took.
	PerCall time.Duration
	Server  time.Duration // CPU of the server, likewise
	Rate    float64       // calls per second, less the time that it takes to start
	Peak    uint64        // bytes
	Start   time.Duration // wall time of a run with one call; 0: there is none
}

// costs runs every generator in every setting, round by round, so that a machine that
// drifts does so for all of them. Each round begins with another generator, and ends
// with a look at how late calls are made.
func costs(peers []generator, s *servers, rounds int) (all []cost, late []time.Duration, err error) {
	for round := range rounds {
		log.Printf("round %d of %d", round+1, rounds)
		for target := range targets {
			group := of(peers, target)
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
		one, err := lateness(peers, s)
		if err != nil {
			return nil, nil, err
		}
		late = append(late, one)
	}
	return all, late, nil
}

func (g generator) cost(s *servers, target int, shape shape) (cost, error) {
	addr, calls := g.address(s, target), g.Calls[target%2]
	start := used{outcome: outcome{answered: 1}}
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
		return cost{}, fmt.Errorf("%s: %d of %d calls were answered, and %d of 1", g.Name, all.answered, calls, start.answered)
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

// use runs a command to its end. meanwhile, when there is one, runs beside it.
func (g generator) use(c command, meanwhile func()) (used, error) {
	if c.report != "" {
		_ = os.Remove(c.report) // what an earlier run said
	}
	var stdout bytes.Buffer
	began := time.Now()
	p, err := process.Start(process.Spec{Args: c.args, Env: c.env, Stdout: &stdout})
	if err != nil {
		return used{}, err
	}
	if meanwhile != nil {
		go meanwhile()
	}
	got := used{}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		// The peak is read while the process lives; see process.CPU for why.
		if peak, err := measure.MaxRSS(p.Pid()); err == nil {
			got.peak = peak
		}
		select {
		case <-p.Done():
			running = false
		case <-tick.C:
			if time.Since(began) > longest {
				p.Kill()
			}
		}
	}
	got.wall, got.cpu = time.Since(began), p.CPU()
	if p.Err() != nil {
		return used{}, fmt.Errorf("%s: %w\n%s", g.Name, p.Err(), p.Log())
	}
	said := report{stdout: stdout.Bytes()}
	if c.report != "" {
		if said.file, err = os.ReadFile(c.report); err != nil {
			return used{}, fmt.Errorf("%s wrote no report: %w", g.Name, err)
		}
	}
	if got.outcome, err = g.read(said); err != nil {
		return used{}, fmt.Errorf("%s: its report: %w", g.Name, err)
	}
	return got, nil
}
