// Package verdict contains the statistics: which difference between two arms is real, how calls were
// distributed over backends, and when balance was restored. It has no side effects, and the same seed
// gives the same result. docs/method/statistics.md describes the method and its limits.
package verdict

// Decision is the result of comparing arm A with arm B.
type Decision string

const (
	Better     Decision = "better"
	Worse      Decision = "worse"
	Equivalent Decision = "equivalent"
	Undecided  Decision = "undecided"
)

// MinRounds is the number of pairs that a decision needs. With fewer than three degrees of freedom,
// Student's t would detect only extreme differences.
const MinRounds = 4

// DefaultMargin is the largest difference, as a share, that counts as none unless an experiment says otherwise.
const DefaultMargin = 0.03

// Pair holds the values of one metric of two arms in the same round. A trial without a value is NaN, so
// that the pair is reported and not ignored.
type Pair struct{ A, B float64 }

// Options of a comparison. A zero (or a value out of range) means the default.
type Options struct {
	// Level is the confidence that all verdicts of the run are correct, in (0, 1); 0.95 by default.
	Level float64
	// Family is the number of verdicts of the run. Each gets 1-(1-Level)/Family
	// (Bonferroni), which holds however the verdicts depend on one another.
	Family int
	// Share is the share of the error that this examination of the verdicts may use ([ErrorShare]),
	// in (0, 1]; 1 by default.
	Share float64
	// Margin is the largest difference, as a share, that counts as none; [DefaultMargin] by default.
	Margin float64
	// Seed of the resampling, which needs it only for more than [exactRounds] pairs.
	Seed uint64
	// Consecutive is true if the pairs are consecutive groups of cycles of an interleaved run, which may share
	// something with their neighbours.
	Consecutive bool
	// Whole is true if Consecutive values are of whole rounds.
	Whole bool
	// Runs is true if each value is that of a whole run, so that its changes from run to run are noise.
	Runs bool
	// Others are the values of the other arms of the cell in the same rounds (or groups of cycles). They show
	// how much noise there is, and how much neighbouring cycles share.
	Others [][]float64
	// Raised is by how much the mean logarithms of the values of A and B may be too large at most. The interval contains
	// all ratios that may be true then.
	Raised [2]float64
	// LowerIsBetter is true for latency and false for rates.
	LowerIsBetter bool
}

// Verdict is the outcome of one comparison.
type Verdict struct {
	// Ratio is the geometric mean of A/B. CI is its confidence interval at Level.
	// Both are finite. Ratio is 0 without a usable pair, CI with fewer than two pairs.
	Ratio    float64
	CI       [2]float64
	Level    float64 // of this interval, after the correction for the family
	Decision Decision
	Rounds   int
	Reason   string // of Undecided: what is missing and what would help
	Cause    Cause  // Reason as fields
	// Error is the standard error of the logarithm of Ratio, and Freedom the number of its degrees of
	// freedom; 0: not known.
	Error, Freedom float64
}

func (o Options) withDefaults() Options {
	if !(o.Level > 0 && o.Level < 1) {
		o.Level = 0.95
	}
	if !(o.Margin > 0) {
		o.Margin = DefaultMargin
	}
	if !(o.Share > 0 && o.Share <= 1) {
		o.Share = 1
	}
	o.Family = max(o.Family, 1)
	return o
}

// groups reports whether each value is of a group of cycles.
func (o Options) groups() bool { return o.Consecutive && !o.Whole }

// alpha is the error probability of this one verdict.
func (o Options) alpha() float64 { return (1 - o.Level) * o.Share / float64(o.Family) }
