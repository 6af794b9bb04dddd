package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// ComparisonSchema is the version of the JSON form of a [Comparison].
const ComparisonSchema = "rpclab.comparison/v1"

// Comparison compares run B with the earlier run A.
type Comparison struct {
	Schema string      `json:"schema"`
	A      ComparedRun `json:"a"`
	B      ComparedRun `json:"b"`
	// Differences are the settings, machines and versions that differ between the two runs.
	Differences []Difference `json:"differences"`
	// Warnings say what disturbed one of the runs: a busy machine, or one shared with another run.
	Warnings []string `json:"warnings"`
	// Margin is the largest difference, as a share, that counts as none; 0 means 0.03.
	Margin float64 `json:"margin,omitempty"`
	// Refused are the arms that are not compared.
	Refused []Refusal    `json:"refused"`
	Ratios  []Ratio      `json:"ratios"`
	Gates   []GateResult `json:"gates"`
}

// ComparedRun identifies one of the two runs.
type ComparedRun struct {
	ID         string    `json:"id"`
	Experiment string    `json:"experiment"`
	Started    time.Time `json:"started"`
	Rounds     int       `json:"rounds"`
	Machine    Machine   `json:"machine"`
	// Others is the share of all CPU time that other programs used, in the median trial of the
	// compared arms; nil: not known.
	Others *float64 `json:"others,omitempty"`
}

// Ratio compares one metric of an arm in the two runs.
type Ratio struct {
	Metric string `json:"metric"` // as in a [Verdict]
	Arm    string `json:"arm"`
	Cell   Cell   `json:"cell"`
	// A and B are the values of all trials merged, in the metric's own unit; 0: there is none, except of failed and errors.
	// Ratio is the geometric mean of B over A, computed from the values of single trials; 0: there is none.
	A     float64    `json:"a"`
	B     float64    `json:"b"`
	Ratio float64    `json:"ratio"`
	CI    [2]float64 `json:"ci"`
	Level float64    `json:"level"`
	Bound RatioBound `json:"bound,omitempty" enum:"lower,upper"` // as in a [Verdict], of B over A
	// ABound and BBound say what A and B are if they are no plain values; empty: they are.
	ABound ValueBound `json:"a_bound,omitempty" enum:"lower,never"`
	BBound ValueBound `json:"b_bound,omitempty" enum:"lower,never"`
	PRanks float64    `json:"p_ranks,omitempty"` // of the Mann-Whitney U test; 0: none
	Trials [2]int     `json:"trials"`            // of A and of B, or groups of cycles
	// Cycles is how many cycles of blocks each value merges; 0: each value is of a whole trial.
	Cycles   int    `json:"cycles,omitempty"`
	Decision string `json:"decision" enum:"better,worse,equivalent,undecided"`
	Reason   string `json:"reason,omitempty"`
	Cause    *Cause `json:"cause,omitempty"` // Reason as fields
	Unfit    bool   `json:"unfit,omitempty"` // as in a [Verdict]
	// Secondary metrics do not share the error rate of the headline metrics.
	Secondary bool `json:"secondary,omitempty"`
}

// ValueBound says what a value is that is no plain one.
type ValueBound string

const (
	LowerValue ValueBound = "lower" // the true value is at least the value: a percentile of lost calls
	NeverEnded ValueBound = "never" // the time did not end before the next event or the end of the load; the value is 0
)

// WithEmptyLists returns the comparison with nil lists and maps replaced by empty ones.
func (c Comparison) WithEmptyLists() Comparison {
	c.Differences, c.Refused, c.Ratios, c.Gates = list(c.Differences), list(c.Refused), list(c.Ratios), list(c.Gates)
	c.Warnings = list(c.Warnings)
	for i := range c.Refused {
		c.Refused[i].Cell = object(c.Refused[i].Cell)
	}
	for i := range c.Ratios {
		c.Ratios[i].Cell = object(c.Ratios[i].Cell)
	}
	for i := range c.Gates {
		c.Gates[i].Cell = object(c.Gates[i].Cell)
	}
	return c
}

// WriteComparison writes a comparison as indented JSON. No list or map is null.
func WriteComparison(w io.Writer, c Comparison) error {
	c = c.WithEmptyLists()
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(c); err != nil {
		return fmt.Errorf("write comparison of %s and %s: %w", c.A.ID, c.B.ID, err)
	}
	return nil
}
