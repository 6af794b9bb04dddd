package lab

import (
	"math"
	"slices"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// metric is something that arms are compared on: one positive value from each trial.
type metric struct {
	name string
	// headline metrics share the error of the whole run; each of the others has one of
	// its own for all its pairs.
	headline bool
	higher   bool // is better
	// of is the value; NaN: the trial has none.
	of func(result.Trial) float64
	// none of it is a value, too: half a call of the smallest trial is added everywhere.
	none bool
	// step is what values are multiples of, where that is coarse.
	step float64
	// tail is the share of calls beyond a percentile; 0: it is none.
	tail float64
	// answers says that the metric is of the calls that were answered, for which it
	// does not stand when too many were not.
	answers bool
	// both says that it is compared only where both arms have it, since none of it means
	// that the party is not there.
	both bool
	// kind of load that the metric is of: what a search measures is at the rate that it
	// found, another one for each arm.
	kind loadKind
}

type loadKind int

const (
	anyLoad loadKind = iota
	pacedLoad
	searchLoad
)

// metrics are what arms are compared on, the headline first.
var metrics = []metric{
	{name: "latency_p50", headline: true, of: latency(func(h result.Histogram) float64 { return h.P50 }), tail: 0.5, answers: true, kind: pacedLoad},
	{name: "latency_p99", headline: true, of: latency(func(h result.Histogram) float64 { return h.P99 }), tail: 0.01, answers: true, kind: pacedLoad},
	{name: "capacity", headline: true, higher: true, of: capacity, kind: searchLoad},
	{name: "latency_p90", of: latency(func(h result.Histogram) float64 { return h.P90 }), tail: 0.1, answers: true, kind: pacedLoad},
	{name: "latency_p999", of: latency(func(h result.Histogram) float64 { return h.P999 }), tail: 0.001, answers: true, kind: pacedLoad},
	{name: "latency_mean", of: latency(func(h result.Histogram) float64 { return h.Mean }), answers: true, kind: pacedLoad},
	{name: "rate", higher: true, of: func(t result.Trial) float64 { return t.Rate }, answers: true, kind: pacedLoad},
	{name: "errors", of: func(t result.Trial) float64 { return t.Measures.Lost() }, none: true},
	{name: "client_cpu", of: func(t result.Trial) float64 { return t.Resources.Client.CPU }},
	{name: "server_cpu", of: func(t result.Trial) float64 { return t.Resources.Server.CPU }},
	{name: "client_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Client.RSS) }},
	{name: "server_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Server.RSS) }},
	{name: "proxy_cpu", of: func(t result.Trial) float64 { return t.Resources.Proxy.CPU }, both: true},
	{name: "proxy_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Proxy.RSS) }, both: true},
	{name: "gateway_cpu", of: func(t result.Trial) float64 { return t.Resources.Gateway.CPU }, both: true},
	{name: "gateway_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Gateway.RSS) }, both: true},
	{name: "balance", higher: true, of: evenness},
	{name: "convergence", of: converged, step: ms(measure.Interval)},
}

// compared says whether two arms are compared on the metric.
func (m metric) compared(a, b result.Arm) bool {
	kind := pacedLoad
	if a.Capacity != nil || b.Capacity != nil {
		kind = searchLoad
	}
	return (m.kind == anyLoad || m.kind == kind) && (m.headline || !m.unknown(a, b))
}

// headlines is how many of the metrics that two arms are compared on are headlines.
func headlines(a, b result.Arm) (n int) {
	for _, m := range metrics {
		if m.headline && m.compared(a, b) {
			n++
		}
	}
	return n
}

func capacity(t result.Trial) float64 {
	if t.Capacity == nil || t.Capacity.Rate == 0 {
		return math.NaN()
	}
	return t.Capacity.Rate
}

func latency(of func(result.Histogram) float64) func(result.Trial) float64 {
	return func(t result.Trial) float64 {
		if t.Latency.HDR == "" {
			return math.NaN()
		}
		return of(t.Latency)
	}
}

// between is the value of trials of two arms that are compared. A share of none has no
// ratio; half a call does, and it must be the same share in both arms, or an arm that
// makes more calls would have fewer errors.
func (m metric) between(a, b result.Arm) func(result.Trial) float64 {
	if !m.none {
		return m.of
	}
	fewest := uint64(math.MaxUint64)
	for _, t := range slices.Concat(a.Trials, b.Trials) {
		if t.Failed == "" {
			fewest = min(fewest, t.Calls+t.Dropped)
		}
	}
	return func(t result.Trial) float64 { return m.of(t) + 0.5/float64(max(fewest, 1)) }
}

// evenness is Jain's index of a trial whose calls could go to more than one backend.
func evenness(t result.Trial) float64 {
	if len(t.Backends) < 2 {
		return math.NaN()
	}
	return t.Balance.Jain
}

// converged is how long the trial's slowest event took until calls were even again, in
// ms; NaN if they never were.
func converged(t result.Trial) float64 {
	slowest := 0.0
	for _, e := range t.Events {
		if e.Took.BalanceRestored == nil {
			return math.NaN()
		}
		slowest = max(slowest, *e.Took.BalanceRestored)
	}
	if len(t.Events) == 0 {
		return math.NaN()
	}
	return slowest
}

// unknown says that there was nothing to measure: no trial of either arm has a value, or
// one of an arm that must have it.
func (m metric) unknown(a, b result.Arm) bool {
	if m.both {
		return !m.has(a) || !m.has(b)
	}
	return !m.has(a) && !m.has(b)
}

// has says whether a trial of the arm has a value.
func (m metric) has(arm result.Arm) bool {
	return slices.ContainsFunc(arm.Trials, func(t result.Trial) bool { return t.Failed == "" && m.of(t) > 0 })
}
