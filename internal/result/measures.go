package result

// Capacity is the result of one search: the highest rate that meets an objective.
type Capacity struct {
	// Rate is the estimate in calls/s, between Holds and Fails; 0: one of the two is not known.
	Rate  float64 `json:"rate"`
	Holds float64 `json:"holds"` // calls/s, the highest rate up to Rate that met the objective; 0: none did
	Fails float64 `json:"fails"` // calls/s, the lowest rate from Rate on that missed it; 0: none did
	SLO   string  `json:"slo"`
	// End is why the search ended: found; used up (all probes made); to holds (the highest rate
	// met the objective); from fails (the lowest rate missed it); generator (the load generator
	// was the bottleneck); interrupted.
	End    string  `json:"end" enum:"found,used up,to holds,from fails,generator,interrupted"`
	Probes []Probe `json:"probes"` // in the order in which they ran
}

// Probe is one rate that a search tried: a point of the curve of latency against rate.
type Probe struct {
	Rate       float64 `json:"rate"` // calls due per second
	DurationMS float64 `json:"duration_ms"`
	Full       bool    `json:"full"` // full length; a shorter probe only narrows the range
	Held       bool    `json:"held"`
	// Limited says how the load generator limited a probe. Such a probe counts neither as met
	// nor as missed.
	Limited string `json:"limited,omitempty"`
	Calls   uint64 `json:"calls"`
	Errors  uint64 `json:"errors"`
	Dropped uint64 `json:"dropped"`
	// P50 and P99 are of all calls that were due, as in [Measures].
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// Lateness is the 99th percentile of the lateness of calls.
	Lateness float64 `json:"lateness_p99_ms"`
}

// Latency returns the percentiles that a probe has. Those of lost calls are lower bounds.
func (p Probe) Latency() Histogram {
	return Histogram{P50: p.P50, P99: p.P99, Lost: float64(p.Errors+p.Dropped) / float64(max(p.Calls+p.Dropped, 1))}
}

// Capacities summarizes the searches of an arm.
type Capacities struct {
	// Rate is the median in calls/s of the searches that have an estimate, of those in which not even the lowest rate held,
	// as 0, and of those in which even the highest rate held, as more than all others. It is 0 if the median is not known.
	Rate  float64 `json:"rate"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int     `json:"searches"` // that have an estimate
}

// Bound is the most calls per second that an arm's users and threads allow, however fast the
// server is: min(users ÷ (service + think), threads ÷ service). During the ramp there are fewer
// users, so both terms are means over the load.
type Bound struct {
	Rate      float64 `json:"rate"`                       // calls/s
	Binds     string  `json:"binds" enum:"users,threads"` // which term is smaller
	ServiceMS float64 `json:"service_ms"`                 // mean delay of a call at the server
	Users     float64 `json:"users"`                      // mean number over the load
	Threads   int     `json:"threads,omitempty"`          // of all servers; 0: not limited
	Reached   float64 `json:"reached,omitempty"`          // successful calls per second, as a share of Rate; 0: not known
}

// Memory is the resident memory of all backends together, in bytes: at the start of the load and every IntervalMS after
// it. Of a load in several blocks, it is the most in each block, and IntervalMS is the mean time from one to the next.
type Memory struct {
	IntervalMS int64    `json:"interval_ms"`
	Servers    []uint64 `json:"servers_bytes"`
}

// WarmUp is the load before the measurement, which lasts until rate and latency are steady.
type WarmUp struct {
	TookMS float64 `json:"took_ms"`
	Steady bool    `json:"steady"` // false: it was not steady when its time was over
	// NeedsMS is how long a warm-up with calls of such a length must last at least, if it was not steady.
	NeedsMS float64 `json:"needs_ms,omitempty"`
}

// LatencyOverTime is the latency of the calls that were due in each interval of a load. A percentile is exact
// to 3 %. It is nil if no call was due. It is also nil if it is that of a lost call, because it is then only
// known to exceed the latency of every answered call.
type LatencyOverTime struct {
	IntervalMS int64      `json:"interval_ms"`
	Calls      []uint64   `json:"calls"` // due, lost ones included
	Lost       []uint64   `json:"lost"`  // failed or dropped
	P50        []*float64 `json:"p50_ms"`
	P99        []*float64 `json:"p99_ms"`
}

// Caller is one of several callers that shared the load of a trial. The trial's histogram merges
// theirs.
type Caller struct {
	Name string `json:"name"`
	// StartMS is the time from the planned start to the first call, by the clock of rpclab. For
	// remote callers it is exact to half a round trip.
	StartMS   float64           `json:"start_ms"`
	Calls     uint64            `json:"calls"` // answered, with success or an error
	Errors    map[string]uint64 `json:"errors"`
	Rate      float64           `json:"rate"`
	Latency   Histogram         `json:"latency_ms"`
	Backends  map[string]uint64 `json:"backends"` // answered calls
	Resources Usage             `json:"resources"`
}

// Skew is the time between the starts of the first and the last caller, in milliseconds.
func Skew(callers []Caller) float64 {
	if len(callers) == 0 {
		return 0
	}
	first, last := callers[0].StartMS, callers[0].StartMS
	for _, c := range callers {
		first, last = min(first, c.StartMS), max(last, c.StartMS)
	}
	return last - first
}

// Usage is CPU time per call and the peak of resident memory in one trial.
type Usage struct {
	CPU float64 `json:"cpu_us_per_call"`
	RSS uint64  `json:"rss_max_bytes"`
	// ThrottledMS is the time in milliseconds for which CPU quotas throttled the containers: the
	// sum over containers, CPUs and, for an arm, trials. 0: never, or no quota.
	ThrottledMS float64 `json:"throttled_ms,omitempty"`
}

// known returns nil if the usage is not known.
func (u Usage) known() *Usage {
	if u == (Usage{}) {
		return nil
	}
	return &u
}

// JVM is what Java virtual machines spent on themselves for a call, in microseconds of elapsed time.
type JVM struct {
	Collecting float64 `json:"gc_us"`      // pauses of the program, and cycles of collectors that run at the same time
	Compiling  float64 `json:"compile_us"` // of all compiler threads
}

// Kernel is what callers, proxies and servers of a load made the kernel do, per call. Other programs of the machine
// may have added to it.
type Kernel struct {
	Connections float64 `json:"connections"`      // TCP connections opened
	Segments    float64 `json:"segments"`         // TCP segments sent, acknowledgements included
	Bytes       float64 `json:"bytes"`            // sent in IP packets, headers included
	Switches    float64 `json:"context_switches"` // of all threads
}
