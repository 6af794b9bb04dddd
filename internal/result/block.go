package result

// Block is a short part of the load of a trial whose arms took turns. Each arm has one block in every
// cycle.
type Block struct {
	Cycle int `json:"cycle"` // from 1, over all rounds of the cell
	Place int `json:"place"` // position in its cycle, from 0
	// StartMS is the time from the start of the trial to that of the block.
	StartMS   float64           `json:"start_ms"`
	Calls     uint64            `json:"calls"`
	Errors    map[string]uint64 `json:"errors,omitempty"`
	Dropped   uint64            `json:"dropped,omitempty"`
	Rate      float64           `json:"rate"`
	ElapsedMS float64           `json:"elapsed_ms"`
	Latency   Histogram         `json:"latency_ms"`
	// AnsweredLatency is of the successful calls alone. nil: no call was lost, so it equals Latency.
	AnsweredLatency *Histogram `json:"answered_latency_ms,omitempty"`
	Lateness        Histogram  `json:"lateness_ms"` // of all calls that were sent
	// AnsweredLateness is of the successful calls alone. nil: no call failed, so it equals Lateness.
	AnsweredLateness *Histogram `json:"answered_lateness_ms,omitempty"`
	// ClientCPU, ServerCPU, ProxyCPU and GatewayCPU are CPU time per call, in microseconds. ServerCPU is nil (null in
	// JSON) if rpclab did not start the server, so its usage is not known.
	ClientCPU  float64       `json:"client_cpu_us_per_call"`
	ServerCPU  *float64      `json:"server_cpu_us_per_call"`
	ProxyCPU   float64       `json:"proxy_cpu_us_per_call,omitempty"`
	GatewayCPU float64       `json:"gateway_cpu_us_per_call,omitempty"`
	Limited    string        `json:"limited,omitempty"` // how the load generator limited the block
	LimitedBy  Limit         `json:"limited_by,omitempty" enum:"lateness,processors"`
	Machine    *Interference `json:"machine,omitempty"`
}

// Limit is how the load generator limited a trial.
type Limit string

const (
	// LimitedByLateness: calls were sent late. Percentiles of the latency at which they were not
	// late are valid.
	LimitedByLateness Limit = "lateness"
	// LimitedByProcessors: the load generator used all the processors that it may use.
	LimitedByProcessors Limit = "processors"
)
