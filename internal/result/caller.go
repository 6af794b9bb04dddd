package result

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
