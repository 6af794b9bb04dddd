package main

import (
	"fmt"
	"log"
	"slices"
	"syscall"
	"time"
)

// The run with a stall: the server is suspended for two of ten seconds.
const (
	stallRate  = 500 // calls per second
	stallRun   = 10 * time.Second
	stallFrom  = 4 * time.Second
	stallLasts = 2 * time.Second
)

// stall is the report of one generator on the run with a stall.
type stall struct {
	Generator string
	Reported  outcome
	Lasted    time.Duration // how long the server was suspended
}

// stalls suspends the server while each generator calls it.
func stalls(peers []generator, s *servers) (all []stall, err error) {
	for _, g := range generatorsFor(peers, greeterTarget) {
		log.Printf("a stalled server: %s", g.Name)
		var lasted time.Duration
		var failed error
		got, err := g.use(g.rate(s.greeter, stallRate, stallRun), func() { lasted, failed = suspend(s) })
		if err != nil {
			return nil, err
		}
		if failed != nil {
			return nil, fmt.Errorf("suspend the server: %w", failed)
		}
		all = append(all, stall{Generator: g.Name, Reported: got.outcome, Lasted: lasted})
	}
	return all, nil
}

// suspend suspends the greeter in the middle of a run and returns for how long.
func suspend(s *servers) (time.Duration, error) {
	<-time.After(stallFrom)
	began := time.Now()
	if err := s.greeterProcess().Signal(syscall.SIGSTOP); err != nil {
		return 0, err
	}
	<-time.After(stallLasts)
	err := s.greeterProcess().Signal(syscall.SIGCONT)
	return time.Since(began), err
}

// trueQuantile is a quantile of the latencies of calls that are due at a constant rate, when the
// server stalls for a while and otherwise answers at once: each call that is due during the stall
// waits for its end.
func trueQuantile(perSecond int, run, from, lasts time.Duration, quantile float64) time.Duration {
	calls := perSecond * int(run/time.Second)
	latencies := make([]time.Duration, calls)
	for n := range latencies {
		due := time.Duration(n) * time.Second / time.Duration(perSecond)
		if due >= from && due < from+lasts {
			latencies[n] = from + lasts - due
		}
	}
	slices.Sort(latencies)
	return latencies[min(int(quantile*float64(calls)), calls-1)]
}
