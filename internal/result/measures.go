package result

// Capacity is what one search found: the highest rate at which an objective holds.
type Capacity struct {
	// Rate is the estimate in calls/s, the middle of the bracket for ratios; 0: there is
	// none, since one side is not known.
	Rate  float64 `json:"rate"`
	Holds float64 `json:"holds"` // calls/s; 0: no rate held
	Fails float64 `json:"fails"` // calls/s; 0: none failed
	SLO   string  `json:"slo"`
	// End is why the search ended: found; used up (its probes were); to holds, from fails
	// (the highest and the lowest rate); generator (which was the limit).
	End    string  `json:"end" enum:"found,used up,to holds,from fails,generator,interrupted"`
	Probes []Probe `json:"probes"` // in their order
}

// Probe is one rate that a search tried: a point of the curve of latency against rate.
type Probe struct {
	Rate       float64 `json:"rate"` // calls due per second
	DurationMS float64 `json:"duration_ms"`
	Full       bool    `json:"full"` // of full length, else only to see where to look
	Held       bool    `json:"held"`
	// Limited says how the generator bounded a probe that did not hold; it is no failure.
	Limited string  `json:"limited,omitempty"`
	Calls   uint64  `json:"calls"`
	Errors  uint64  `json:"errors"`
	Dropped uint64  `json:"dropped"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	// Lateness is the 99th percentile of how late calls left.
	Lateness float64 `json:"lateness_p99_ms"`
}

// Capacities are what the searches of an arm found together.
type Capacities struct {
	Rate  float64 `json:"rate"` // calls/s, the geometric mean of the searches that have an estimate
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int     `json:"searches"` // that have an estimate
}

// Bound is the most calls per second that an arm's users and threads allow, whatever answers
// them: min(users ÷ (service + think), threads ÷ service). While users begin there are fewer of
// them, so both are means over the load.
type Bound struct {
	Rate      float64 `json:"rate"`                       // calls/s
	Binds     string  `json:"binds" enum:"users,threads"` // which of the two is less
	ServiceMS float64 `json:"service_ms"`                 // the mean wait of a call at the server
	Users     float64 `json:"users"`                      // the mean number over the load
	Threads   int     `json:"threads,omitempty"`          // of all servers; 0: nothing bounds them
	Reached   float64 `json:"reached,omitempty"`          // as a share of it, what the arm answered well in a second
}

// Memory is what was resident of all backends together over the time of a load, in bytes: at
// its start and every IntervalMS after.
type Memory struct {
	IntervalMS int64    `json:"interval_ms"`
	Servers    []uint64 `json:"servers_bytes"`
}

// Caller is one of several that shared the load of a trial. The trial's histogram of
// latencies is theirs merged, value by value.
type Caller struct {
	Name string `json:"name"`
	// StartMS is how much later than the common plan its first call was sent, by the lab's
	// clock, which knows those elsewhere to half a round trip.
	StartMS   float64           `json:"start_ms"`
	Calls     uint64            `json:"calls"` // answered, well or badly
	Errors    map[string]uint64 `json:"errors"`
	Rate      float64           `json:"rate"`
	Latency   Histogram         `json:"latency_ms"`
	Backends  map[string]uint64 `json:"backends"` // answered calls
	Resources Usage             `json:"resources"`
}

// Skew is how far apart the first and the last of some callers began, in milliseconds.
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
