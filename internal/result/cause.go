package result

// Cause is the reason of an undecided verdict, or of a balance that was not seen, as a kind with
// its figures. The reason says the same in words.
type Cause struct {
	Kind CauseKind `json:"kind" enum:"interval,rounds,value,drift,outlier,failed_trials,generator,lost_calls,calls,clock,steps,interference,control,not_tested,uneven,time,backends,window"`
	// Arm is the arm whose numbers are the cause; empty: those of both.
	Arm string `json:"arm,omitempty"`
	// Run is the compared run whose numbers are the cause, A or B; empty: both, or there is one run.
	Run string `json:"run,omitempty"`
	// Metric is, of not_tested, the headline metric before this one.
	Metric string `json:"metric,omitempty"`
	// Have and Needed count rounds or calls: of interval, the rounds that would probably decide;
	// of calls, those of a trial or, for a balance, of a backend. Needed 0: not known, or over 1000 rounds.
	Have   float64 `json:"have,omitempty"`
	Needed float64 `json:"needed,omitempty"`
	// Groups says that they count groups of cycles of a run whose arms took turns.
	Groups bool `json:"groups,omitempty"`
	// Difference is a share that may be under Margin; 0: the interval spans 1.
	Difference float64 `json:"difference,omitempty"`
	Margin     float64 `json:"margin,omitempty"`
	// Share is that of the calls lost, or of the CPU time that others used.
	Share float64 `json:"share,omitempty"`
}

// CauseKind is the kind of a [Cause].
type CauseKind string

// The causes of undecided verdicts and, after those, of balances that were not seen.
const (
	CauseInterval     CauseKind = "interval"      // it leaves both answers open
	CauseRounds       CauseKind = "rounds"        // are too few
	CauseValue        CauseKind = "value"         // is missing, or not positive
	CauseDrift        CauseKind = "drift"         // of the ratio from round to round
	CauseOutlier      CauseKind = "outlier"       // among the rounds
	CauseFailedTrials CauseKind = "failed_trials" // have no measurement
	CauseGenerator    CauseKind = "generator"     // was the bottleneck
	CauseLostCalls    CauseKind = "lost_calls"    // failed or were dropped
	CauseCalls        CauseKind = "calls"         // are too few
	CauseClock        CauseKind = "clock"         // is too coarse
	CauseSteps        CauseKind = "steps"         // of the metric are too coarse
	CauseInterference CauseKind = "interference"  // of other machines, or of a CPU quota
	CauseControl      CauseKind = "control"       // differs from the arm that it repeats
	CauseNotTested    CauseKind = "not_tested"    // because the headline metric before is not settled

	CauseUneven   CauseKind = "uneven"   // calls until the next event
	CauseTime     CauseKind = "time"     // after the event was too short
	CauseBackends CauseKind = "backends" // were not ready
	CauseWindow   CauseKind = "window"   // does not fit the timeline
)
