package analysis

import (
	"math"
	"slices"
	"strings"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// metric is a measure on which arms are compared. It has one positive value for each trial.
type metric struct {
	name string
	// headline metrics answer the question of an experiment that names no others.
	headline bool
	higher   bool // is better
	// of returns the value of a trial; NaN: the trial has no value.
	of func(result.Trial) float64
	// zero is true if 0 is a valid value. Then half a call of the smallest trial is added to every value,
	// because 0 has no ratio.
	zero bool
	// step is the resolution: every value is a multiple of it; 0: there is none.
	step float64
	// tail is the share of calls that exceed a percentile; 0: the metric is no percentile. at returns the percentile, or the
	// mean, of a distribution; nil: the metric is neither.
	tail float64
	at   func(result.Histogram) float64
	// allDue is true if the metric covers all calls that were due. At a percentile of lost calls, its value is
	// a lower bound.
	allDue bool
	// answers is true if the metric covers answered calls only, or the CPU time of a call: a refused call is cheap.
	// It means nothing if too many calls were lost.
	answers bool
	// both is true if the metric is compared only if both arms have a value. An arm without a value has no such
	// component.
	both bool
	// alone is true if the noise of other arms says nothing about that of a pair.
	alone bool
	// byRank is true if trials are compared by their order. Two arms are then compared only if one of them has
	// a value other than zero and never.
	byRank bool
	// anyTime is true if calls that are sent late leave the metric as it is.
	anyTime bool
	// kind is the kind of load that has this metric. A search has no latency, because it measures each arm at
	// another rate.
	kind loadKind
}

type loadKind int

const (
	anyLoad loadKind = iota
	pacedLoad
	searchLoad
)

// metrics are the metrics that arms are compared on, whether or not the experiment names them.
var metrics = []metric{
	percentile("latency_p50", true, 0.5, func(h result.Histogram) float64 { return h.P50 }),
	percentile("latency_p99", true, 0.01, func(h result.Histogram) float64 { return h.P99 }),
	{name: "capacity", headline: true, higher: true, of: capacity, kind: searchLoad},
	percentile("latency_p90", false, 0.1, func(h result.Histogram) float64 { return h.P90 }),
	percentile("latency_p999", false, 0.001, func(h result.Histogram) float64 { return h.P999 }),
	{name: "latency_mean", of: latency(mean), at: mean, allDue: true, kind: pacedLoad},
	{name: "rate", higher: true, of: func(t result.Trial) float64 { return t.Answered() }, answers: true, kind: pacedLoad},
	{name: "errors", of: func(t result.Trial) float64 { return t.Measures.Lost() }, zero: true, anyTime: true},
	{name: "client_cpu", of: func(t result.Trial) float64 { return t.Resources.Client.CPU }, answers: true},
	{name: "server_cpu", of: func(t result.Trial) float64 { return t.Resources.Server.CPU }, answers: true},
	{name: "client_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Client.RSS) }},
	{name: "server_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Server.RSS) }},
	{name: "proxy_cpu", of: func(t result.Trial) float64 { return t.Resources.Proxy.CPU }, answers: true, both: true},
	{name: "proxy_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Proxy.RSS) }, both: true},
	{name: "gateway_cpu", of: func(t result.Trial) float64 { return t.Resources.Gateway.CPU }, answers: true, both: true},
	{name: "gateway_memory", of: func(t result.Trial) float64 { return float64(t.Resources.Gateway.RSS) }, both: true},
	// A rotation is exact, one connection has one backend, and chance varies.
	{name: "balance", higher: true, of: evenness, alone: true, anyTime: true},
	{name: "convergence", of: converged, step: result.Milliseconds(measure.TimelineInterval)},
}

// namedMetrics are compared only if the experiment names them in its headline.
var namedMetrics = []metric{
	{name: "failed", of: func(t result.Trial) float64 { return t.Measures.Lost() }, zero: true, byRank: true, anyTime: true},
	{name: "followed", of: followed, byRank: true, anyTime: true, kind: pacedLoad},
	{name: "elapsed", of: func(t result.Trial) float64 { return t.ElapsedMS }, answers: true, kind: pacedLoad},
}

// percentile is a percentile of the latency, which a share of calls exceeds.
func percentile(name string, headline bool, tail float64, at func(result.Histogram) float64) metric {
	return metric{name: name, headline: headline, of: latency(at), tail: tail, at: at, allDue: true, kind: pacedLoad}
}

// compared reports whether two arms are compared on the metric.
func (m metric) compared(a, b result.Arm) bool {
	kind := pacedLoad
	if a.Capacity != nil || b.Capacity != nil {
		kind = searchLoad
	}
	return (m.kind == anyLoad || m.kind == kind) && (m.headline && !m.byRank || !m.unknown(a, b))
}

// compared returns the number of these metrics on which two arms are compared.
func compared(all []metric, a, b result.Arm) (n int) {
	for _, m := range all {
		if m.compared(a, b) {
			n++
		}
	}
	return n
}

// experimentName is the name in an experiment's headline: p50 for latency_p50.
func (m metric) experimentName() string { return strings.TrimPrefix(m.name, "latency_") }

// MetricNames returns the verdict metrics of an experiment's headline: latency_p50 for p50.
func MetricNames(headline []string) (names []string) {
	for _, m := range headline {
		for _, known := range slices.Concat(metrics, namedMetrics) {
			if known.experimentName() == m {
				names = append(names, known.name)
			}
		}
	}
	return names
}

// headline returns the metrics that answer the question of a document, in their order, and the other metrics.
func headline(d result.Document) (all, others []metric) {
	names := d.Headline
	for _, m := range metrics {
		if m.headline && len(d.Headline) == 0 {
			names = append(names, m.name)
		}
	}
	for _, name := range names {
		for _, m := range slices.Concat(metrics, namedMetrics) {
			if m.name == name {
				m.headline = true
				all = append(all, m)
			}
		}
	}
	for _, m := range metrics {
		m.headline = false
		same := m.name == "errors" && slices.Contains(names, "failed")
		if !same && !slices.Contains(names, m.name) {
			others = append(others, m)
		}
	}
	return all, others
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

func mean(h result.Histogram) float64 { return h.Mean }

// between returns the value of a trial for a comparison of two arms. Zero has no ratio, so between adds half a
// call. The addition is the same share in both arms; otherwise an arm with more calls would seem to have fewer
// errors.
func (m metric) between(a, b result.Arm) func(result.Trial) float64 {
	if !m.zero {
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

// evenness is Jain's index of a trial with more than one backend.
func evenness(t result.Trial) float64 {
	if t.BalanceOver() < 2 {
		return math.NaN()
	}
	return t.Balance.Jain
}

// converged is the time in ms until calls were balanced again after the trial's slowest event; NaN:
// never.
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

// followed is the time in ms until the trial's slowest event that added backends had a call to one of
// them; +Inf: there was none until another event or the end, NaN: no event added backends. Events that replaced only
// backends that the client did not call do not count: it needed no new one. Nor do events that made backends ready which it called
// all the time.
func followed(t result.Trial) float64 {
	slowest := 0.0
	for _, e := range t.Events {
		switch {
		case e.Added == 0 || e.CalledUnready || e.CalledBefore != nil && !*e.CalledBefore:
		case e.BackendsUnknown:
			return math.NaN()
		case e.Took.FirstCall == nil:
			return math.Inf(1)
		default:
			slowest = max(slowest, *e.Took.FirstCall)
		}
	}
	if slowest == 0 {
		return math.NaN()
	}
	return slowest
}

// unknown reports whether no trial of either arm has a value or, if both arms must have one, whether one arm
// has none.
func (m metric) unknown(a, b result.Arm) bool {
	if m.both {
		return !m.has(a) || !m.has(b)
	}
	return !m.has(a) && !m.has(b)
}

// has reports whether any trial of the arm has a value other than zero and never.
func (m metric) has(arm result.Arm) bool {
	return slices.ContainsFunc(arm.Trials, func(t result.Trial) bool {
		v := m.of(t)
		return t.Failed == "" && v > 0 && !math.IsInf(v, 1)
	})
}

// values returns the value of each trial of an arm, without a search that an interrupt ended; NaN if the trial failed.
func values(arm result.Arm, of func(result.Trial) float64) []float64 {
	var all []float64
	for _, t := range arm.Trials {
		switch {
		case wasInterrupted(t):
		case t.Failed == "":
			all = append(all, of(t))
		default:
			all = append(all, math.NaN())
		}
	}
	return all
}
