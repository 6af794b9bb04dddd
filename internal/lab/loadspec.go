package lab

import (
	"math"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
)

// This file derives from the load of an experiment when calls are due, how many are in flight, and how long it takes.

// paceSpec returns when the calls of a load are due; for a capacity search those of its warm-up, at the lowest rate.
func paceSpec(l experiment.Load, seedOf uint64) pace.Spec {
	switch {
	case l.Sequence > 0:
		sequence := pace.Sequence(uint64(l.Sequence))
		return pace.Spec{Closed: &sequence}
	case l.Burst > 0:
		return pace.Spec{Burst: &pace.Burst{Calls: l.Burst}}
	case l.Closed != nil:
		return pace.Spec{Closed: &pace.Closed{
			Users: l.Closed.Users, Ramp: l.Closed.Ramp, Think: l.Closed.Think, Duration: l.Closed.Duration, Calls: uint64(l.Closed.Calls),
		}}
	case l.Open != nil:
		return pace.Spec{Rate: &pace.Rate{
			PerSecond: l.Open.Rate, Duration: l.Open.Duration, Max: l.Open.MaxInFlight,
			Poisson: l.Open.Arrivals == "poisson", Seed: experiment.DeriveSeed(seedOf, "arrivals"),
		}}
	case l.Search != nil:
		return pace.Spec{Rate: &pace.Rate{
			PerSecond: l.Search.From, Duration: l.Search.Duration, Max: l.Search.MaxInFlight,
			Poisson: l.Search.Arrivals == "poisson", Seed: experiment.DeriveSeed(seedOf, "arrivals"),
		}}
	}
	return pace.Spec{}
}

// maxInFlight returns the largest number of calls, or of requests to a gateway, in flight.
func maxInFlight(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Closed != nil:
		return l.Closed.Users
	case l.Open != nil:
		all := l.Open.Rate * l.Open.Duration.Seconds()
		all += 5 * math.Sqrt(all) // random arrivals may exceed the mean
		return int(min(math.Ceil(all), float64(l.Open.MaxInFlight)))
	case l.Search != nil:
		return l.Search.MaxInFlight
	}
	return 1
}

// loadTimeout returns how long a load may take before its trial fails: the time that it takes if
// every call times out, and a minute more.
func loadTimeout(c experiment.Config) time.Duration {
	l, calls := c.Load, 1
	switch {
	case l.Sequence > 0:
		calls = l.Sequence
	case l.Closed != nil && l.Closed.Duration == 0:
		calls = l.Closed.Calls/l.Closed.Users + 1
	}
	d := time.Minute + time.Duration(calls)*c.Caller.Timeout
	if l.Closed != nil {
		d += l.Closed.Ramp + l.Closed.Duration + time.Duration(calls)*l.Closed.Think
	}
	if l.Open != nil {
		d += l.Open.Duration
	}
	if l.Search != nil {
		d += 2 * l.Search.Duration // a probe and the calls that it has queued
	}
	return d
}
