package report

import (
	"testing"

	"rpclab/internal/result"
)

func TestAConfoundHasAShareOnlyOfAGapThatIsOne(t *testing.T) {
	arm := func(name string, elapsed float64) result.Arm {
		return result.Arm{Name: name, Measures: result.Measures{Calls: 1000, ElapsedMS: elapsed}}
	}
	for name, c := range map[string]struct {
		published, controlled float64
		decision, limited     string
		dropped               uint64
		want                  string
	}{
		"slower":              {1000, 600, "worse", "", 0, "80 %"},
		"faster":              {300, 400, "better", "", 0, "50 %"},
		"equal":               {501, 500, "equivalent", "", 0, "no gap"},
		"undecided":           {1000, 600, "undecided", "", 0, "not established"},
		"undecided, no gap":   {501, 500, "undecided", "", 0, "not established"},
		"no verdict":          {1000, 600, "", "", 0, "not established"},
		"equal but for other": {1000, 600, "equivalent", "", 0, "not established"},
		"limited":             {1000, 600, "worse", "late", 0, "not established"},
		"calls lost":          {1000, 600, "worse", "", 11, "not established"},
	} {
		published, baseline := arm("a", c.published), arm("b", 500)
		published.Limited, baseline.Dropped = c.limited, c.dropped
		d := result.Document{Verdicts: []result.Verdict{{Metric: "latency_p99", A: "a", B: "b", Decision: "worse"},
			{Metric: "latency_p50", A: "a", B: "b", Decision: c.decision}}}
		if got := partOf(d, published, arm("c", c.controlled), baseline); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
