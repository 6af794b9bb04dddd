package result

// Conditions is the outcome of the conditions of --assert and --gate on a run.
type Conditions string

const (
	ConditionsPassed   Conditions = "passed"
	ConditionsFailed   Conditions = "failed"   // also if rpclab could not tell, unless the user lets that pass
	ConditionsAccepted Conditions = "accepted" // they failed, and the user accepted the run: [Store.Accept]
)

// Assertion is an assertion on one arm of a run.
type Assertion struct {
	Assertion string   `json:"assertion"` // p99 < 50ms
	Arm       string   `json:"arm"`
	Cell      Cell     `json:"cell"`
	Failures  []string `json:"failures,omitempty"` // empty: the assertion holds
}

// Gates are what gates have shown about a run.
type Gates struct {
	// Against is the ID of the earlier run, or baseline: then each arm was compared with the baseline of this run. Empty:
	// there was no run to compare with.
	Against string       `json:"against"`
	Results []GateResult `json:"results"`
	Refused []Refusal    `json:"refused,omitempty"` // arms that were not compared
	// Differences and Warnings are those of the comparison with the earlier run, which is A.
	Differences []Difference `json:"differences,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
	// Undecided is the outcome of a gate that rpclab cannot tell, or of an arm that it cannot compare.
	Undecided string `json:"undecided" enum:"fail,pass"`
}

// GateResult is the outcome of a gate for one arm.
type GateResult struct {
	Gate    string     `json:"gate"` // p99 ratio < 1.05
	Arm     string     `json:"arm"`
	Cell    Cell       `json:"cell"`
	Ratio   float64    `json:"ratio"`
	CI      [2]float64 `json:"ci"` // all intervals of all gates together have 95 % confidence
	Level   float64    `json:"level"`
	Outcome string     `json:"outcome" enum:"held,failed,not established"`
	Reason  string     `json:"reason,omitempty"` // only for not established
}

// Refusal says why an arm is not compared.
type Refusal struct {
	Arm    string `json:"arm"`
	Cell   Cell   `json:"cell"`
	Reason string `json:"reason"`
}
