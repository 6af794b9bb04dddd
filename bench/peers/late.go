package main

import (
	"fmt"
	"log"
	"time"
)

// The run that measures the lateness of `rpclab load`.
const (
	lateRate = 10_000 // calls per second
	lateRun  = 3 * time.Second
	lateGoal = 200 * time.Microsecond // for the p99, on an otherwise idle core
)

// lateness is the p99 of how late `rpclab load` makes the calls of an open loop.
func lateness(peers []generator, s *servers) (time.Duration, error) {
	for _, g := range peers {
		if g.Name != ours || g.Plain {
			continue
		}
		got, err := g.use(g.rate(s.answerer, lateRate, lateRun), nil)
		if err != nil {
			return 0, err
		}
		if want := lateRate * int(lateRun/time.Second); got.answered != want {
			return 0, fmt.Errorf("%s: the server answered %d of %d calls at %d/s", g.Name, got.answered, want, lateRate)
		}
		log.Printf("late by %v (p99)", got.late)
		return got.late, nil
	}
	return 0, fmt.Errorf("%s is not among the generators", ours)
}
