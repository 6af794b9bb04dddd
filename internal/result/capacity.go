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
