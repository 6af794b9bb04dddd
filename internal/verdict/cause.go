package verdict

// CauseKind is the kind of a reason.
type CauseKind string

// Kinds of reasons: the first five are of comparisons, the others of a balance that was not seen.
const (
	CauseInterval CauseKind = "interval" // it leaves both answers open
	CauseRounds   CauseKind = "rounds"
	CauseValue    CauseKind = "value" // a value is missing, or not positive
	CauseDrift    CauseKind = "drift"
	CauseOutlier  CauseKind = "outlier"

	CauseCalls    CauseKind = "calls"
	CauseUneven   CauseKind = "uneven"
	CauseTime     CauseKind = "time" // after the event
	CauseBackends CauseKind = "backends"
	CauseWindow   CauseKind = "window"
)

// Cause is a reason as a kind with its figures; the reason's sentence says the same.
type Cause struct {
	Kind CauseKind
	// Have and Needed count rounds, or calls for each backend. Needed 0: not known, or over 1000 rounds.
	Have, Needed float64
	// Groups says that they count groups of cycles.
	Groups bool
	// Difference is a share that may be under Margin; 0: the interval spans 1.
	Difference, Margin float64
}
