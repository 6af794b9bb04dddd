package analysis

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/experiment"
	"rpclab/internal/measure"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// Record is what was recorded of one load of a trial.
type Record struct {
	Config        experiment.Config
	CallsBackends bool // false: callers call a function of their own process
	// BackendsUnknown says that calls were answered, and rpclab does not know by which backends.
	BackendsUnknown bool
	// OwnNames says that responses name their backends in a way of their own, which rpclab cannot compare
	// with the endpoints.
	OwnNames bool
	Start    time.Time           // planned start of every caller
	Callers  []CallerRecord      // at least one
	Events   []PerformedEvent    // in the order of the experiment
	Merged   measure.Measurement // of all callers
	// Endpoints are the published sets of endpoints, the first from before the load.
	Endpoints []cluster.Snapshot
	// Servers is the usage of each backend, and CallsStarted the number of calls that each backend
	// started, by identity. CallsStarted is nil if it cannot be compared with calls answered.
	Servers      map[string]cluster.Usage
	CallsStarted map[string]uint64
	// Proxies, Gateways and ControlPlane are the usage of all components of each role together.
	Proxies, Gateways, ControlPlane cluster.Usage
	// Kernel is what the kernel counted during the load; nil: it counted for others, too.
	Kernel *measure.KernelCounters
	// JVMs is what the Java virtual machines of servers and gateways spent on themselves; nil: there are none.
	JVMs *measure.JVMTimes
	// Interrupted is when an interrupt ended the load early; zero: none did.
	Interrupted time.Time
}

// CallerRecord is what one caller measured of its share of a load.
type CallerRecord struct {
	Name string
	measure.Measurement
}

// Summarize computes a trial's measures, resources, timeline, events and balance from the record of
// its load.
func (r Record) Summarize(trial result.Trial) result.Trial {
	seen := r.Merged
	trial = Measured(trial, seen, r.deadline(), r.Interrupted)
	var err error
	if trial.Callers, err = r.callers(); err != nil {
		trial.Failed = err.Error()
	}
	trial.Backends = r.callsPerBackend()
	trial.Timeline = timeline(seen, r.Endpoints)
	trial.Resources = result.Resources{
		Client:  usagePerCall(usageOf(seen), seen.Calls),
		Server:  usagePerCall(total(r.Servers), seen.Calls),
		Proxy:   usagePerCall(r.Proxies, seen.Calls),
		Gateway: usagePerCall(r.Gateways, seen.Calls),
		Control: usagePerCall(r.ControlPlane, seen.Calls),
	}
	trial.Kernel, trial.JVM, trial.ConnectingMS = kernelPerCall(r.Kernel, seen.Calls), jvmPerCall(r.JVMs, seen.Calls), connectingPerCall(seen)
	trial.ProxyConnections = r.Proxies.Connections
	trial.Servers = map[string]result.ServerUsage{}
	for id, u := range r.Servers {
		trial.Servers[id] = result.ServerUsage{
			CPUMS: result.Milliseconds(u.CPU), RSS: u.MaxRSS, Charged: u.Charged, ThrottledMS: result.Milliseconds(u.Throttled),
		}
	}
	if !r.BackendsUnknown && !r.OwnNames { // answered calls are counted by other names than started ones
		trial.Wasted = wasted(r.CallsStarted, seen.Backends)
	}
	trial.Events = outcomes(r.Events, seen, r.Endpoints)
	if r.BackendsUnknown || r.OwnNames {
		trial.Events = withoutBackends(trial.Events)
	}
	trial.Limited, trial.LimitedBy = generatorLimit(r.Config.Load, trial.Measures)
	switch {
	case r.BackendsUnknown:
	case r.OwnNames:
		trial.Groups = [][]uint64{r.withUnnamed(slices.Sorted(maps.Values(trial.Backends)))}
	default:
		trial.Groups = groups(trial.Backends, len(r.Events) > 0, seen, r.Endpoints)
	}
	trial.Balance = balance(trial.Groups)
	return trial
}

// Measured adds the measures of a load to its trial. A lost call counts as deadline, but calls that an interrupt cancelled,
// at a time that is zero if there was none, are left out of the latency.
func Measured(trial result.Trial, seen measure.Measurement, deadline time.Duration, interrupted time.Time) result.Trial {
	seen, trial.Cancelled = endedBy(interrupted, seen)
	var errs [7]error
	trial.Calls, trial.Dropped, trial.Late, trial.Waited, trial.Resent = seen.Calls, seen.Dropped, seen.Late, seen.Waited, seen.Resent
	trial.Errors, trial.Samples, trial.Reasons = seen.Errors, seen.Samples, seen.Reasons
	trial.Latency, errs[0] = result.FromEncoded(seen.Latency)
	trial.Service, errs[1] = result.FromEncoded(seen.Service)
	trial.Lateness, errs[2] = result.FromEncoded(seen.Lateness)
	if len(seen.Errors) > 0 {
		trial.AnsweredLateness = new(result.Histogram)
		*trial.AnsweredLateness, errs[3] = result.FromEncoded(seen.AnsweredLateness)
	}
	if seen.Answers != "" {
		trial.Messages = new(result.Histogram)
		*trial.Messages, errs[6] = result.FromEncoded(seen.Answers)
	}
	errs[4] = trial.CountLost(deadline, trial.Cancelled)
	trial.ByName, errs[5] = namedCalls(seen.ByName, deadline, trial.Lateness, trial.Cancelled > 0 && trial.Cancelled == seen.Errors["CANCELLED"])
	if err := errors.Join(errs[:]...); err != nil {
		trial.Failed = err.Error()
	}
	trial.ElapsedMS = result.Milliseconds(seen.Elapsed)
	trial.Rate, trial.Window = Rate(seen)
	trial.LatencyOverTime = LatencyOverTime(seen)
	return trial
}

// deadline is the least that a lost call counts as.
func (r Record) deadline() time.Duration {
	return r.Config.Load.Search.Deadline(r.Config.Caller.Timeout)
}

// callers are the measures of each caller; nil: there is only one caller.
func (r Record) callers() (all []result.Caller, err error) {
	if len(r.Callers) == 1 {
		return nil, nil
	}
	for _, m := range r.Callers {
		var cancelled uint64
		m.Measurement, cancelled = endedBy(r.Interrupted, m.Measurement)
		one := result.Caller{
			Name: m.Name, StartMS: result.Milliseconds(m.Started.Sub(r.Start) + m.FirstLateness), Calls: m.Calls,
			Errors: m.Errors, Backends: m.Backends, Resources: usagePerCall(usageOf(m.Measurement), m.Calls),
		}
		one.Rate, _ = Rate(m.Measurement)
		own := result.Measures{Errors: m.Errors, Dropped: m.Dropped}
		var errs [3]error
		own.Latency, errs[0] = result.FromEncoded(m.Latency)
		own.Lateness, errs[1] = result.FromEncoded(m.Lateness)
		errs[2] = own.CountLost(r.deadline(), cancelled)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		one.Latency = own.Latency
		all = append(all, one)
	}
	return all, nil
}

// callsPerBackend counts the calls that each backend answered, including ready backends with 0.
func (r Record) callsPerBackend() map[string]uint64 {
	calls := map[string]uint64{}
	if !r.CallsBackends || r.BackendsUnknown {
		return calls
	}
	if r.OwnNames {
		maps.Copy(calls, r.Merged.Backends)
		return calls
	}
	for id := range r.ready() {
		calls[id] = 0
	}
	maps.Copy(calls, r.Merged.Backends)
	return calls
}

// ready returns the identities of all endpoints that were ready during the load.
func (r Record) ready() map[string]bool {
	ids := map[string]bool{}
	for _, snapshot := range r.Endpoints {
		for _, e := range snapshot.Ready() {
			ids[e.ID] = true
		}
	}
	return ids
}

// withUnnamed adds a 0 to sorted counts of calls by names of the backends' own for each further endpoint that was ready: a
// backend that answered no call has named itself to nobody. With events it adds none, because a backend that starts in place
// of another may have its name.
func (r Record) withUnnamed(counts []uint64) []uint64 {
	if len(r.Events) > 0 {
		return counts
	}
	silent := make([]uint64, max(0, len(r.ready())-len(counts)))
	return append(silent, counts...)
}

// endedBy returns what was measured of a load that was interrupted, at a time that is zero if it was not, without a window that
// did not end, and how many calls the interrupt cancelled.
func endedBy(interrupted time.Time, m measure.Measurement) (_ measure.Measurement, cancelled uint64) {
	if interrupted.IsZero() {
		return m, 0
	}
	if m.Elapsed < m.Window {
		m.Window = 0
	}
	return m, cancelledFrom(interrupted.Sub(m.Started), m.Timeline)
}

// cancelledFrom counts the calls that an interrupt cancelled. A server that answered CANCELLED before did so itself.
// Calls are cancelled a little before rpclab notes the time of the interrupt.
func cancelledFrom(interrupt time.Duration, line measure.Timeline) (n uint64) {
	const noted = measure.TimelineInterval / 2
	ended := line.Errors["CANCELLED"]
	first := int(max(interrupt-noted, 0) / measure.TimelineInterval)
	for _, calls := range ended[min(first, len(ended)):] {
		n += calls
	}
	return n
}

// Rate returns the calls per second: in the window, if the load has one that is long enough for its calls, else until
// the last answer. Without the window, a stall near its end would count as time in which calls were due.
func Rate(m measure.Measurement) (perSecond float64, window *result.Window) {
	switch {
	case m.Window > 0 && (m.Elapsed <= m.Window || !tooShort(m.Window, m.Latency)):
		return float64(m.InWindow) / m.Window.Seconds(), &result.Window{
			LengthMS: result.Milliseconds(m.Window), DrainMS: result.Milliseconds(max(0, m.Elapsed-m.Window)),
			AnsweredRate: float64(m.AnsweredInWindow) / m.Window.Seconds(),
		}
	case m.Elapsed > 0:
		return float64(m.Calls) / m.Elapsed.Seconds(), nil
	}
	return 0, nil
}

// tooShort reports whether even the fastest tenth of the answered calls took over a third of the window. Few calls of a
// steady load end in such a window. The median would not do: a stall from the start to the end of the window delays it
// by half the window, and the fastest tenth by a tenth.
func tooShort(window time.Duration, latency string) bool {
	h, err := result.Histogram{HDR: latency}.Decode()
	return err == nil && h != nil && h.TotalCount() > 0 && time.Duration(h.ValueAtPercentile(10)) > window/3
}

// timeline returns the callers' counts, and the number of ready backends in each interval.
func timeline(seen measure.Measurement, history []cluster.Snapshot) *result.Timeline {
	steps := int(seen.Elapsed/measure.TimelineInterval) + 1
	line := &result.Timeline{
		IntervalMS: measure.TimelineInterval.Milliseconds(), Backends: seen.Timeline.Backends,
		Errors: seen.Timeline.Failed(), Late: seen.Timeline.Late, Ready: make([]int, steps),
	}
	for i := range line.Ready {
		at := seen.Started.Add(time.Duration(i) * measure.TimelineInterval)
		for j, snapshot := range history {
			if j == 0 || !snapshot.At.After(at) {
				line.Ready[i] = len(snapshot.Ready())
			}
		}
	}
	return line
}

// total returns the usage of all servers, with the memory of the largest.
func total(used map[string]cluster.Usage) (all cluster.Usage) {
	for _, u := range used {
		all.CPU, all.Throttled, all.MaxRSS = all.CPU+u.CPU, all.Throttled+u.Throttled, max(all.MaxRSS, u.MaxRSS)
	}
	return all
}

// usageOf returns the usage of callers.
func usageOf(m measure.Measurement) cluster.Usage {
	return cluster.Usage{CPU: m.CPU, MaxRSS: m.MaxRSS, Throttled: m.Throttled}
}

func usagePerCall(used cluster.Usage, calls uint64) result.Usage {
	u := result.Usage{RSS: used.MaxRSS, ThrottledMS: result.Milliseconds(used.Throttled)}
	if calls > 0 {
		u.CPU = float64(used.CPU.Nanoseconds()) / 1e3 / float64(calls)
	}
	return u
}

// wasted counts the calls that backends started and whose response no caller received: failed and cancelled
// calls, and all but one attempt of each retried or hedged call. It leaves out backends that do not report
// their calls; nil: no backend reports them.
func wasted(started, answered map[string]uint64) *uint64 {
	if len(started) == 0 {
		return nil
	}
	var n uint64
	for id, calls := range started {
		n += calls - min(answered[id], calls)
	}
	return &n
}

// generatorLimit says how the load generator limited a trial's numbers; "": not at all. Only calls
// that are due at a time of their own can be late.
func generatorLimit(load experiment.Load, m result.Measures) (limited string, by result.Limit) {
	if load.Open != nil || load.Search != nil || load.Closed != nil && load.Closed.Think > 0 {
		return Late(m)
	}
	return "", ""
}

// Late says how late rpclab sent the answered calls; "": on time, or late by a small share of their
// latency.
func Late(m result.Measures) (limited string, by result.Limit) {
	lateness, latency := m.AnswersLateness(), m.Answers()
	limited = cmp.Or(verdict.Late("p99", lateness.P99, latency.P99), verdict.Late("p50", lateness.P50, latency.P50))
	if limited != "" {
		limited += verdict.Waited(m.Waited, m.Calls)
		by = result.LimitedByLateness
	}
	return limited, by
}
