package result

// Cause describes the reason of an undecided verdict, or of a balance that was not found, as fields. The reason
// says the same in words.
type Cause struct {
	Kind CauseKind `json:"kind" enum:"interval,rounds,value,drift,outlier,failed_trials,event,generator,lost_calls,calls,clock,steps,process,interference,control,not_tested,uneven,time,backends,window"`
	// Arm is the arm whose numbers are the cause; empty: those of both.
	Arm string `json:"arm,omitempty"`
	// Run is the compared run whose numbers are the cause, A or B; empty: both, or there is one run.
	Run string `json:"run,omitempty"`
	// Metric is the earlier headline metric that is not settled. Only not_tested has it.
	Metric string `json:"metric,omitempty"`
	// Have and Needed are numbers of rounds or calls. For interval, Needed is the number of rounds that would
	// probably decide. For calls, both are numbers of calls of a trial or, for a balance, of a backend. Needed
	// is 0 if it is not known or over 1000 rounds.
	Have   float64 `json:"have,omitempty"`
	Needed float64 `json:"needed,omitempty"`
	// Groups is true if Have and Needed count groups of cycles of a run whose arms took turns.
	Groups bool `json:"groups,omitempty"`
	// Difference is a share that may be under Margin. It is 0 if the interval spans 1.
	Difference float64 `json:"difference,omitempty"`
	Margin     float64 `json:"margin,omitempty"`
	// Share is the share of calls that were lost, or of CPU time that others used.
	Share float64 `json:"share,omitempty"`
}

// CauseKind is the kind of a [Cause].
type CauseKind string

// The causes of undecided verdicts and, after those, of balances that were not found.
const (
	CauseInterval     CauseKind = "interval"      // the interval allows a difference and none
	CauseRounds       CauseKind = "rounds"        // too few rounds
	CauseValue        CauseKind = "value"         // a value is missing, or not positive
	CauseDrift        CauseKind = "drift"         // the ratio drifts from round to round
	CauseOutlier      CauseKind = "outlier"       // one round differs from the others
	CauseFailedTrials CauseKind = "failed_trials" // trials without a measurement
	CauseEvent        CauseKind = "event"         // an event was not performed, or not completed because a backend exited or did not start
	CauseGenerator    CauseKind = "generator"     // the load generator was the bottleneck
	CauseLostCalls    CauseKind = "lost_calls"    // too many calls failed or were dropped
	CauseCalls        CauseKind = "calls"         // too few calls
	CauseClock        CauseKind = "clock"         // the clock is too coarse
	CauseSteps        CauseKind = "steps"         // the resolution of the metric is too coarse
	CauseProcess      CauseKind = "process"       // the processes stayed up in all rounds, so there is one value
	CauseInterference CauseKind = "interference"  // other machines, a quota or an arm at the same time withheld CPU time
	CauseControl      CauseKind = "control"       // an A/A control differs from the arm that it repeats
	CauseNotTested    CauseKind = "not_tested"    // an earlier headline metric is not settled

	CauseUneven   CauseKind = "uneven"   // calls were uneven until the next event
	CauseTime     CauseKind = "time"     // too little time after the event
	CauseBackends CauseKind = "backends" // backends were not ready
	CauseWindow   CauseKind = "window"   // no window fits into the timeline
)
