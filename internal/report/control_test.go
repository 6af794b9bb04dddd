package report

import (
	"math"
	"testing"

	"rpclab/internal/result"
)

func TestTheControlSentenceNamesItsResult(t *testing.T) {
	verdict := func(decision, reason string, low, high float64) result.Verdict {
		return result.Verdict{Metric: "latency_p50", Ratio: 1, CI: [2]float64{low, high}, Decision: decision, Reason: reason, Rounds: 5}
	}
	same, open := verdict("equivalent", "", 0.99, 1.01), verdict("undecided", "the difference may be zero: about 9 rounds in all would decide, if the noise stays", 0.95, 1.0801)
	open.Cause = &result.Cause{Kind: result.CauseInterval}
	limited := verdict("undecided", "the load generator was the bottleneck in b: late", 0.9, 1.9)
	limited.Cause = &result.Cause{Kind: result.CauseGenerator, Arm: "b"}
	older := verdict("undecided", "the load generator was the bottleneck in b: late", 0.9, 1.9)
	older.Unfit = true
	elsewhere := limited
	elsewhere.Cell = result.Cell{"load.burst": 9}
	for name, c := range map[string]struct {
		all  []result.Verdict
		want string
		bad  bool
	}{
		"equivalent": {[]result.Verdict{same, same},
			"The A/A control b repeats a. It is as fast, so rpclab found no difference where there is none.", false},
		"undecided": {[]result.Verdict{same, open},
			"The A/A control b repeats a. No difference found; a difference of up to 8.1 % cannot be excluded.", false},
		"wide": {[]result.Verdict{open, verdict("undecided", "", 0.5, 1.3)},
			"The A/A control b repeats a. No difference found; a difference of up to 50 % cannot be excluded.", false},
		"without a limit": {[]result.Verdict{verdict("undecided", "", 0.9, math.Exp(700))},
			"The A/A control b repeats a. No difference found; a difference of over 100-fold cannot be excluded.", false},
		"unfit": {[]result.Verdict{limited, limited},
			"The A/A control b repeats a. It shows nothing: the load generator was the bottleneck in b: late.", false},
		"unfit, in an older document": {[]result.Verdict{older},
			"The A/A control b repeats a. It shows nothing: the load generator was the bottleneck in b: late.", false},
		"few rounds": {[]result.Verdict{verdict("undecided", "1 round; at least 4 are needed", 0, 0)},
			"The A/A control b repeats a. It shows nothing: 1 round; at least 4 are needed.", false},
		"unfit in one cell": {[]result.Verdict{same, elsewhere},
			"The A/A control b repeats a. It is as fast, so rpclab found no difference where there is none. It shows nothing at burst = 9: the load generator was the bottleneck in b: late.", false},
		"different": {[]result.Verdict{same, verdict("worse", "", 1.05, 1.2)},
			"Careful: the A/A control b repeats a, yet a difference was found at the median (1.00, 1.05–1.20). Treat differences of this size in this run as noise.", true},
	} {
		if got, bad := controlText("b", "a", c.all); got != c.want || bad != c.bad {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestConfidenceLevelsHaveEnoughDecimals(t *testing.T) {
	for level, want := range map[float64]string{0.95: "95 %", 1 - 0.05/16: "99.7 %", 1 - 0.05/60: "99.92 %", 1 - 0.05/1000: "99.995 %"} {
		if got := confidence(level); got != want {
			t.Errorf("confidence(%v) = %s, want %s", level, got, want)
		}
	}
}
