package verdict

// CauseKind is the kind of a reason.
type CauseKind string

// Kinds of reasons: the first five belong to comparisons, the others to a balance that was not found.
const (
	CauseInterval CauseKind = "interval" // the interval allows a difference and none
	CauseRounds   CauseKind = "rounds"
	CauseValue    CauseKind = "value" // a value is missing, or not positive
	CauseDrift    CauseKind = "drift"
	CauseOutlier  CauseKind = "outlier"

	CauseCalls    CauseKind = "calls"
	CauseUneven   CauseKind = "uneven"
	CauseTime     CauseKind = "time" // too little time after the event
	CauseBackends CauseKind = "backends"
	CauseWindow   CauseKind = "window"
)

// Cause describes a reason as fields. The sentence of the reason says the same.
type Cause struct {
	Kind CauseKind
	// Have and Needed are numbers of rounds, or of calls for each backend. Needed is 0 if it is not known or
	// over 1000 rounds.
	Have, Needed float64
	// Groups is true if Have and Needed count groups of cycles.
	Groups bool
	// Difference is a share that may be under Margin. It is 0 if the interval spans 1.
	Difference, Margin float64
}
