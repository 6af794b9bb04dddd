package analysis

import (
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/result/failure"
)

// namedCalls returns what was measured of calls by their names. A call that was lost counts as its deadline, or as
// the greatest lateness of a call if that is longer. After an interrupt, calls that it cancelled count in no latency.
func namedCalls(seen map[string]measure.NamedCalls, deadline time.Duration, lateness result.Histogram, interrupted bool) (all map[string]result.NamedCalls, err error) {
	deadline = max(deadline, time.Duration(lateness.Max*float64(time.Millisecond)))
	for name, c := range seen {
		calls := result.NamedCalls{Due: c.Calls + c.Dropped, Errors: c.Errors, Dropped: c.Dropped}
		lost := result.Measures{Errors: c.Errors}.Failed() + c.Dropped
		calls.Answered = calls.Due - lost
		answered, err := result.FromEncoded(c.Latency)
		if err != nil {
			return nil, err
		}
		if interrupted {
			lost -= c.Errors["CANCELLED"]
		}
		if calls.Latency, err = answered.CountLost(lost, deadline); err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]result.NamedCalls{}
		}
		all[name] = calls
	}
	return all, nil
}

// mergeNamed merges the calls of trials by their names.
func mergeNamed(trials []result.Trial) (all map[string]result.NamedCalls, err error) {
	latencies := map[string][]result.Histogram{}
	for _, t := range trials {
		for name, c := range t.ByName {
			if t.Failed != "" {
				continue
			}
			if all == nil {
				all = map[string]result.NamedCalls{}
			}
			sum, known := all[name]
			if !known {
				sum.Errors = map[string]uint64{}
			}
			sum.Due, sum.Answered, sum.Dropped = sum.Due+c.Due, sum.Answered+c.Answered, sum.Dropped+c.Dropped
			failure.AddCounts(sum.Errors, c.Errors)
			all[name], latencies[name] = sum, append(latencies[name], c.Latency)
		}
	}
	for name, calls := range all {
		if calls.Latency, err = result.Merge(latencies[name]); err != nil {
			return nil, err
		}
		all[name] = calls
	}
	return all, nil
}
