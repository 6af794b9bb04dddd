package result

// Verdict compares arm A with arm B on one metric in one cell.
type Verdict struct {
	Metric   string     `json:"metric"` // latency_p50, latency_p99, client_cpu, balance, …
	A        string     `json:"a"`
	B        string     `json:"b"`
	Cell     Cell       `json:"cell"`
	Ratio    float64    `json:"ratio"` // a over b; of latencies, under 1: a is faster
	CI       [2]float64 `json:"ci"`
	Level    float64    `json:"level"`                                             // of CI: those of one headline metric together have 0.95
	Decision string     `json:"decision" enum:"better,worse,equivalent,undecided"` // a against b
	Rounds   int        `json:"rounds"`                                            // number of pairs
	// Cycles is how many cycles of blocks each pair merges; 0: each pair is of two whole trials.
	Cycles int `json:"cycles,omitempty"`
	// Repeats are controls that repeat B. The value of B in each pair is the geometric mean of its own and theirs.
	Repeats []string `json:"repeats,omitempty"`
	Reason  string   `json:"reason,omitempty"` // of undecided
	// Cause is Reason as fields; nil: the decision is not undecided, or the document is older.
	Cause *Cause `json:"cause,omitempty"`
	// Bound says that Ratio and CI are only a lower or an upper bound of the true ratio, because A, or B, has a
	// lower bound in place of its value (lost calls). Empty: neither arm has one, or both have.
	Bound RatioBound `json:"bound,omitempty" enum:"lower,upper"`
	// Unfit says that more rounds would not help.
	Unfit bool `json:"unfit,omitempty"`
	// Secondary metrics do not share the error rate of the headline metrics: each has 5 % for
	// all its pairs.
	Secondary bool `json:"secondary,omitempty"`
	// PRanks is the two-sided p-value of the Mann-Whitney U test on the trials' values of this
	// pair; 0: no values.
	PRanks float64 `json:"p_ranks,omitempty"`
	// Power describes which differences the comparison detects; nil: not known, or the metric is no headline
	// metric.
	Power *Power `json:"power,omitempty"`
	// Notes are warnings about the numbers that do not change the decision.
	Notes []string `json:"notes,omitempty"`
	// Kind is why the pair is compared.
	Kind VerdictKind `json:"kind" enum:"baseline,against,control,confound"`
}

// RatioBound says on which side of a ratio the true ratio is.
type RatioBound string

const (
	LowerBound RatioBound = "lower" // the true ratio is at least the ratio
	UpperBound RatioBound = "upper" // the true ratio is at most the ratio
)

// VerdictKind is why two arms are compared.
type VerdictKind string

const (
	// OfBaseline: B is the experiment's baseline.
	OfBaseline VerdictKind = "baseline"
	// OfAgainst: A names B in its field against.
	OfAgainst VerdictKind = "against"
	// OfControl: A repeats B, which makes the pair an A/A control.
	OfControl VerdictKind = "control"
	// OfConfound: A is the published arm and B the same arm without its confound.
	OfConfound VerdictKind = "confound"
)

// AnswersQuestion reports whether the pair answers the experiment's question: A against the baseline, or
// against the arm that A names.
func (k VerdictKind) AnswersQuestion() bool { return k == OfBaseline || k == OfAgainst }

// Published is a figure of the published study, printed next to the measurements.
type Published struct {
	Arm       string  `json:"arm"`
	Cell      Cell    `json:"cell"`
	ElapsedMS float64 `json:"elapsed_ms,omitempty"`
	Rate      float64 `json:"rate,omitempty"` // calls/s
	Mean      float64 `json:"mean_ms,omitempty"`
	P95       float64 `json:"p95_ms,omitempty"`
	RSS       float64 `json:"rss_mb,omitempty"` // of a server
	Note      string  `json:"note,omitempty"`   // "crash", "all on one pod"
}

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
	// ControlledBaseline is the baseline of Controlled, if that is another arm than Baseline.
	ControlledBaseline string `json:"controlled_baseline,omitempty"`
	Cell               Cell   `json:"cell"`
	// Metric is elapsed if the load is a number of calls, else latency_p50.
	Metric  string     `json:"metric" enum:"elapsed,latency_p50"`
	GapMS   float64    `json:"gap_ms"`  // published minus baseline, mean over rounds
	Remains float64    `json:"remains"` // controlled minus its baseline, as a share of the gap
	CI      [2]float64 `json:"ci"`      // of Remains; zero if Reason is set
	Level   float64    `json:"level"`   // of CI: 0.95, shared by all accounts of the run
	// Cycles is how many cycles of blocks each value merges; 0: each value is of a whole trial.
	Cycles int    `json:"cycles,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// OfLostCalls reports whether so many calls were lost that there is no verdict. Its ratio is that of the answered calls, and
// says nothing.
func (v Verdict) OfLostCalls() bool {
	return v.Unfit && v.Cause != nil && v.Cause.Kind == CauseLostCalls
}

// HasRatio reports whether Ratio and CI say anything. They do not if a time did not end in most trials of one arm (its ratio is
// then beyond all numbers), of shares of failed calls, which may be 0, and of lost calls.
func (v Verdict) HasRatio() bool {
	return v.Ratio > 1/Beyond && v.Ratio < Beyond && v.Metric != "failed" && !v.OfLostCalls()
}

// Beyond is a ratio that only a time without an end has, or the end of an interval that has no bound. JSON has no infinity.
const Beyond = 1e300
