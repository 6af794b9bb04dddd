package result

// FaultProxy is what the fault proxy before a backend of a service costs while it injects no fault. One runs before
// every backend in all arms of an experiment with the events slow or fail.
type FaultProxy struct {
	Service string `json:"service"`
	Call    string `json:"call"`
	// Calls were made directly, and about as many through the proxy, one after another.
	Calls uint64 `json:"calls"`
	// DirectMS and ProxyMS are the medians of both, of one call at a time; nil: not known.
	DirectMS *float64 `json:"direct_p50_ms"`
	ProxyMS  *float64 `json:"proxy_p50_ms"`
	// CPU is the CPU time of the proxy; nil: not known.
	CPU *float64 `json:"cpu_us_per_call"`
	// Unknown says why the cost is not known; empty: it is.
	Unknown string `json:"unknown,omitempty"`
}
