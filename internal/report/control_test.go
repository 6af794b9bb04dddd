package report

import (
	"testing"

	"rpclab/internal/result"
)

func TestTheControlSaysWhatItShows(t *testing.T) {
	verdict := func(decision, reason string, low, high float64) result.Verdict {
		return result.Verdict{Metric: "latency_p50", Ratio: 1, CI: [2]float64{low, high}, Decision: decision, Reason: reason}
	}
	same, open := verdict("equivalent", "", 0.99, 1.01), verdict("undecided", "the interval spans 1: more rounds would narrow it", 0.95, 1.0801)
	limited := verdict("undecided", "b was limited by the generator: late", 0.9, 1.9)
	elsewhere := limited
	elsewhere.Cell = result.Cell{"load.burst": 9}
	for name, c := range map[string]struct {
		all  []result.Verdict
		want string
		bad  bool
	}{
		"equivalent": {[]result.Verdict{same, same},
			"The control b, which is a once more, is as fast as it: the lab sees no difference where there is none.", false},
		"undecided": {[]result.Verdict{same, open},
			"The control b, which is a once more, was not called different from it; a difference of up to 8.1 % could not have been seen.", false},
		"wide": {[]result.Verdict{open, verdict("undecided", "", 0.5, 1.3)},
			"The control b, which is a once more, was not called different from it; a difference of up to 50 % could not have been seen.", false},
		"unfit": {[]result.Verdict{limited, limited},
			"The control b, which is a once more, says nothing: b was limited by the generator: late.", false},
		"few rounds": {[]result.Verdict{verdict("undecided", "1 round; at least 4 are needed", 0, 0)},
			"The control b, which is a once more, says nothing: 1 round; at least 4 are needed.", false},
		"unfit in one cell": {[]result.Verdict{same, elsewhere},
			"The control b, which is a once more, is as fast as it: the lab sees no difference where there is none. It says nothing at burst = 9: b was limited by the generator: late.", false},
		"different": {[]result.Verdict{same, verdict("worse", "", 1.05, 1.2)},
			"Careful: the control b is a once more, yet it was called different at the median (1.00, 1.05–1.20). Take differences of this size in this run for noise.", true},
	} {
		if got, bad := controlText("b", "a", c.all); got != c.want || bad != c.bad {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestLevelsShowTheirNines(t *testing.T) {
	for level, want := range map[float64]string{0.95: "95 %", 1 - 0.05/16: "99.7 %", 1 - 0.05/60: "99.92 %", 1 - 0.05/1000: "99.995 %"} {
		if got := confidence(level); got != want {
			t.Errorf("%v is %s, want %s", level, got, want)
		}
	}
}
