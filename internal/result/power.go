package result

// Power describes which true differences the comparison of a verdict detects, if the noise is as in the run.
type Power struct {
	// Ratio50, Ratio80 and Ratio95 are the smallest true ratios over 1 that 50, 80 and 95 % of such runs
	// detect. They detect the inverses with at least these probabilities.
	Ratio50 float64 `json:"ratio_50"`
	Ratio80 float64 `json:"ratio_80"`
	Ratio95 float64 `json:"ratio_95"`
	// Error is the standard error of the logarithm of the ratio, with Freedom degrees of freedom.
	Error   float64 `json:"error"`
	Freedom float64 `json:"freedom"`
	// Raised is by how much late calls can have changed the logarithm of the ratio at most. The interval allows for it.
	Raised float64 `json:"raised,omitempty"`
	// Longer is how long a run must be to detect smaller differences; nil: the verdict is decided, or the run
	// would have over 1,000 rounds.
	Longer *Longer `json:"longer,omitempty"`
}

// Longer is how long a run must be to detect a difference with a probability of 80 %.
type Longer struct {
	// Metric is the headline metric, and the figures are those of the pair that needs the longest run; empty:
	// the figures are those of one verdict.
	Metric     string  `json:"metric,omitempty"`
	Difference float64 `json:"difference"` // as a share: 0.1 is a ratio of 1.1, or its inverse
	// Rounds is the number of rounds of that run. MoreMS is how much longer than this run it takes. The
	// intervals have a confidence of 80 %, because a run estimates its own noise only roughly. They end at
	// 1,000 values.
	Rounds   int        `json:"rounds"`
	RoundsCI [2]int     `json:"rounds_ci"`
	MoreMS   float64    `json:"more_ms"`
	MoreCI   [2]float64 `json:"more_ms_ci"`
}
