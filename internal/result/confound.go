package result

// Confound names what else differs between a published arm and the controlled one.
type Confound struct {
	Published  string `json:"published"`
	Controlled string `json:"controlled"`
	What       string `json:"what"`
}

// Account says how much of a published gap remains without its confound, in one cell.
type Account struct {
	Published  string `json:"published"`
	Controlled string `json:"controlled"`
	Baseline   string `json:"baseline"`
	Cell       Cell   `json:"cell"`
	// Metric is elapsed where a load is a number of calls, else latency_p50.
	Metric  string     `json:"metric" enum:"elapsed,latency_p50"`
	GapMS   float64    `json:"gap_ms"`  // published less baseline, the mean over rounds
	Remains float64    `json:"remains"` // controlled less baseline, as a share of the gap
	CI      [2]float64 `json:"ci"`      // of Remains, zero where Reason is given
	Level   float64    `json:"level"`   // of CI: 0.95, shared by all accounts of the run
	Reason  string     `json:"reason,omitempty"`
}
