package html

import (
	"math"
	"strconv"
)

// Schema names the form of a [View]; the charts refuse another one.
const Schema = "rpclab.view/v1"

// View is what the charts draw of a run: the numbers of its document, without the encoded
// histograms. Times are in milliseconds, rates in calls a second.
type View struct {
	Schema     string   `json:"schema"`
	Experiment string   `json:"experiment"`
	Baseline   string   `json:"baseline"`
	Arms       []string `json:"arms"` // each once, in the order of the document
	Cells      []Cell   `json:"cells"`
	// Quantiles are where Series.Curve has its values, as 1/(1-p): 1 the least, 2 the
	// median, 100 p99.
	Quantiles []Num    `json:"quantiles"`
	Series    []Series `json:"series"`
	Effects   []Effect `json:"effects"`
}

// Cell is a point of the sweep.
type Cell struct {
	Name string `json:"name"` // "" without a sweep
	// X is its value where exactly one field varies, and is a number.
	X *Num `json:"x,omitempty"`
}

// Series is one arm in one cell, both by their place in the View.
type Series struct {
	Arm     int  `json:"arm"`
	Cell    int  `json:"cell"`
	Limited bool `json:"limited,omitempty"` // by the generator
	// Lost is the share of the calls that were lost: percentiles above 1 - Lost are lower bounds.
	Lost    Num    `json:"lost,omitempty"`
	P50     Num    `json:"p50"`
	P99     Num    `json:"p99"`
	Rate    Num    `json:"rate"` // of the successful calls
	Elapsed Num    `json:"elapsed"`
	Curve   *Curve `json:"curve,omitempty"`
	// Backends are of Round alone: every round draws its connections anew, so that their sum
	// would look even where no round is.
	Backends []Bar     `json:"backends,omitempty"`
	Round    int       `json:"round,omitempty"`
	Cost     []Cost    `json:"cost,omitempty"`
	Timeline *Timeline `json:"timeline,omitempty"`
	OverTime *OverTime `json:"over_time,omitempty"`
	Memory   *Memory   `json:"memory,omitempty"`
	Capacity *Capacity `json:"capacity,omitempty"`
	// Published compares published figures with those of this run.
	Published []StudyFigure `json:"published,omitempty"`
}

// Bar is the calls that one backend answered.
type Bar struct {
	Backend string `json:"backend"`
	Calls   uint64 `json:"calls"`
}

// Cost is what one party used.
type Cost struct {
	Party string `json:"party"`
	CPU   Num    `json:"cpu"` // µs per call
	MB    Num    `json:"mb"`  // peak
}

// OverTime is the latency of an arm's calls over one trial, by when they were due; null: none was.
type OverTime struct {
	Round int   `json:"round"`
	Step  Num   `json:"step"` // milliseconds
	P50   []Num `json:"p50"`
	P99   []Num `json:"p99"`
}

// Memory is that of an arm's servers together, over one trial.
type Memory struct {
	Round int   `json:"round"`
	Step  Num   `json:"step"`  // milliseconds between two points
	MB    []Num `json:"mb"`    // the most of each step
	Start Num   `json:"start"` // the first reading, in MB
	End   Num   `json:"end"`   // the last reading, in MB
}

// Capacity is the rate that a search found, with the range of its rounds.
type Capacity struct {
	Rate Num `json:"rate"`
	Low  Num `json:"low"`
	High Num `json:"high"`
}

// Effect is what an event led to in an arm: failed calls, and ms until the resolver was updated,
// until the first call to a new backend and until the balance was restored; null: not seen.
type Effect struct {
	Arm             int    `json:"arm"`
	Cell            int    `json:"cell"`
	Index           int    `json:"index"` // of the event in its trial
	What            string `json:"what"`
	At              Num    `json:"at"` // seconds
	Failed          uint64 `json:"failed"`
	ResolverUpdated Num    `json:"resolver_updated"`
	FirstCall       Num    `json:"first_call"`
	BalancedAgain   Num    `json:"balanced_again"`
}

// Num is a number of which four digits are kept; one that is none becomes null.
type Num float64

// MarshalJSON writes four significant digits.
func (n Num) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(nil, rounded, 'f', -1, 64), nil
}

// Curve is latency by percentile: at each of View.Quantiles that the number of calls
// reaches, of all trials together, and the least and the most of single trials. A value
// that is not known is null.
type Curve struct {
	MS   []Num `json:"ms"`
	Low  []Num `json:"low,omitempty"`
	High []Num `json:"high,omitempty"`
}

// StudyFigure is a published figure and that of this run.
type StudyFigure struct {
	Metric    string `json:"metric"`
	Published Num    `json:"published"`
	Measured  Num    `json:"measured"`
	Bound     bool   `json:"bound,omitempty"` // Measured is a lower bound: the percentile is that of lost calls
}

// Timeline is one trial over time.
type Timeline struct {
	Round    int      `json:"round"`
	Step     Num      `json:"step"` // milliseconds between two points
	Backends []Line   `json:"backends"`
	Errors   []uint64 `json:"errors"` // failed calls in each step
	Ready    []int    `json:"ready"`  // backends, at its start
	Marks    []Mark   `json:"marks,omitempty"`
}

// Line is what one backend answered in each step, in calls.
type Line struct {
	Backend string   `json:"backend"`
	Calls   []uint64 `json:"calls"`
}

// Mark is an event in this trial.
type Mark struct {
	At   Num    `json:"at"` // ms
	What string `json:"what"`
}
